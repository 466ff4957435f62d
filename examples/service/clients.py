"""Clients of a campaign that give a salary each, all in this process; it needs `quorate_client` alone.

    python clients.py wages.json FOLDER

Reads lines of JSON: the first one lists the clients, [{"invitation": ..., "values": {"salary": ...}}, ...], and they
give their values. The second one is `"results"`. Answers each by one line of JSON: {"given": number of clients}, then
{"results": [true or false for each client]}. Keys and packets are kept in the folder.
"""

import concurrent.futures
import json
import sys
from pathlib import Path

import quorate_client

AT_A_TIME = 8


def main():
    campaign, folder = quorate_client.Campaign.from_file(sys.argv[1]), Path(sys.argv[2])
    told = json.loads(sys.stdin.readline())
    clients = []
    for number, one in enumerate(told):
        key = folder / f"client{number}.key"
        quorate_client.new_key(key)
        clients.append(quorate_client.client(campaign, key=key, invitation=one["invitation"]))
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        given = list(pool.map(lambda pair: pair[0].submit(pair[1]["values"]), zip(clients, told, strict=True)))
        print(json.dumps({"given": len(given)}), flush=True)
        if sys.stdin.readline().strip() == '"results"':
            results = [result["above_mean"] for result in pool.map(lambda client: client.result(), clients)]
            print(json.dumps({"results": [bool(result) for result in results]}), flush=True)


if __name__ == "__main__":
    main()
