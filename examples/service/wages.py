"""The program of the survey: the mean and the highest of the salaries, and to each client whether it is above the mean.

    quorate party wages.py --config party.toml -- wages.json      # at every server, after the closing

Prints the results in one line, each after its name.
"""

import argparse

import quorate as qr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("campaign", help="the campaign's file")
    campaign = parser.parse_args().campaign

    with qr.session() as mpc:
        people = mpc.campaign(campaign)
        mean = people["salary"].sum() // people.present.sum()
        people.answer({"above_mean": people["salary"] > mean})
        highest = people["salary"].max()
        found = {"mean": mean.reveal(), "highest": highest.reveal(), "clients": people.present.sum().reveal()}
        print(*(f"{name} {value}" for name, value in found.items()))


if __name__ == "__main__":
    main()
