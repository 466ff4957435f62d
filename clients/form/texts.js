/**
 * All texts of the page. Translate this file, and name the language; `labels` has what columns are called.
 *
 * Texts with parameters are functions. Messages of servers and names of campaigns are shown as they are.
 * @module
 */

const list = (numbers) => numbers.map((number) => `server ${number}`).join(" and ");
const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;
const together = (most, servers) => (most + 1 === servers ? `all ${servers} servers` : `${most + 1} or more servers`);

export const texts = {
  language: "en",

  /** What columns, results and parts are called, by their names in the campaign: `salary: "Yearly salary in euro"`. */
  labels: {},

  time: (date) => date.toLocaleString("en", { dateStyle: "long", timeStyle: "long" }),
  number: (text) => text,
  range: ({ low, high, step }) => step === undefined ? `A whole number from ${low} to ${high}.`
    : `A decimal number from ${low} to ${high}, rounded to steps of ${step}.`,
  numbered: ({ label, number }) => `${label}, number ${number}`,
  lines: ({ rows, perLine, isBit }) => `${plural(rows, "line", "lines")}, ` +
    (perLine === 1 ? "with one number each."
      : `with ${perLine} numbers each, between tabs, semicolons, or commas with a space behind.`) +
    (isBit ? " Write 1 for yes and 0 for no." : ""),
  fromFile: "or take the lines from a file:",
  rounded: ({ given }) => `This is given as ${given}, the nearest step.`,
  someRounded: "Some numbers are rounded to the nearest step.",
  yes: "Yes",
  no: "No",

  problems: {
    empty: "Fill this in.",
    unanswered: "Choose an answer.",
    notInteger:
      "Write a whole number with the digits 0 to 9 only, such as 52000 or -7: no commas, points, spaces or letters.",
    notDecimal:
      "Write a number with the digits 0 to 9 and one point, such as 52000 or -7.25: no commas, spaces or letters.",
    leadingZero: "Write the number without zeros before it.",
    tooLong: "The number has too many digits.",
    outside: ({ low, high }) => `Write a number from ${low} to ${high}.`,
    rows: ({ wanted, given }) => `There must be ${plural(wanted, "line", "lines")}, and there are ${given}.`,
    cells: ({ line, wanted, given }) =>
      `Line ${line} must have ${plural(wanted, "number", "numbers")}, and it has ${given}.`,
    comma: ({ line }) =>
      `Line ${line} has a comma between two digits, which may be read in two ways. Write a point in a number, and a ` +
      "tab, a semicolon, or a comma and a space between two numbers.",
    inLine: ({ line, sentence }) => `Line ${line}: ${sentence}`,
  },

  about: {
    title: "What happens with your answers",
    servers: "Your answers are computed on by these servers, which belong to different operators:",
    sent: ({ parts, servers }) =>
      `Before anything is sent, this page splits each answer into ${parts} parts. Each part alone ` +
      `is random. It encrypts each part for one of the ${servers} servers. Nobody else can read it.`,
    follow: ({ most, servers }) =>
      "No server sees your answers. They stay secret as long as all servers follow the agreed procedure, and " +
      `${together(most, servers)} do not put together what they have.`,
    cheat: ({ most, servers }) =>
      `No server sees your answers. They stay secret as long as ${together(most, servers)} do not work together, ` +
      "whatever one of them does otherwise.",
    result: ({ atLeast }) =>
      `The servers compute a result of all answers together, if ${plural(atLeast, "participant", "participants")} or ` +
      "more give answers. A result can tell something about you if others know the remaining answers.",
    program: "They can only run the programs that were agreed on beforehand.",
    anyProgram: "This survey does not say which program may run: its operators decide what is computed.",
    again: ({ more }) => `Up to ${more} more results may be computed of the same answers.`,
    keep: "A program may keep what it computes of your answers for later programs.",
    learn: "The servers learn that you take part, and when.",
    learnBounds:
      "The servers learn that you take part, when, and whether all your answers are within the stated limits.",
    change: ({ time }) =>
      `You can replace or withdraw your answers until ${time}. Operators may close the survey earlier.`,
    page:
      "This page runs in your browser. Whoever provides it could change it so that it sends your answers elsewhere. " +
      "Use it only if you trust its provider. Ask an operator, in another way, for the fingerprint and compare:",
    short: "Fingerprint",
    full: "In full",
    closes: "Closes",
    least: "Participants needed",
    server: ({ number, address }) => `Server ${number}: ${address}`,
  },

  invitation: {
    title: "Your invitation",
    label: "Invitation",
    hint: "Paste the text that you were sent, whole.",
    linked:
      "This invitation was in the link. Use it only if the link came from those who invited you: with an invitation " +
      "of somebody else, your answers count as that person's. Otherwise paste your own text here.",
    use: "Use this invitation",
    notKept: ({ message }) =>
      "This browser cannot keep the invitation or the key. Leave the private window, or free some storage, and try " +
      `again. ${message}`,
    wrong: "This is no invitation for this survey. Copy the text again, whole.",
    other:
      "This browser has already an invitation for this survey, and keeps to it. The invitation in the address is not " +
      "used. To use another one before you give answers, remove what this browser keeps, and open the link again. " +
      "After that, open it in another browser profile.",
    keyTitle: "Your key",
    keyLabel: "Key file",
    keyHint: "Choose the file that you made for this survey. It stays in this browser.",
    keyUse: "Use this key",
    keyWrong: "This key cannot be used in this survey:",
  },

  values: {
    title: "Your answers",
    replace: "New answers",
    send: "Encrypt and send",
    cancel: "Cancel",
    more: "More options",
    atLeast: "Compute only if at least this many take part",
    atLeastHint: ({ least, most }) => `From ${least} to ${most}. If fewer take part, your answers are not used.`,
    wrong: "Some answers need a correction. Nothing was sent.",
    checking: ({ done, all }) => `Reading line ${done} of ${all}`,
    encrypting: "Encrypting your answers",
  },

  parts: { title: "Which answers", slot: "Questions", item: ({ most }) => `Entry, from 1 to ${most}`, show: "Show" },

  status: {
    title: "Where your answers are",
    nothing: "You have not given any answers.",
    sending: "Sending.",
    waiting: ({ servers, seconds }) =>
      `Not complete yet: waiting for ${list(servers)}. The page tries again in ${seconds} s. ` +
      "Leave it open, or open it again later in this browser: it then sends the same encrypted answers.",
    before: "Until then, your answers from before count.",
    beforeNone: "Until then, nothing of yours counts.",
    stored: ({ time }) => `Done: all servers have stored your answers (${time}).`,
    withdrawn: ({ time }) => `Done: your answers are withdrawn (${time}).`,
    closed: "The survey is closed.",
    over:
      "By the clock of this device, the time for answers is over. If the clock is right, the servers will not accept " +
      "any.",
    server: ({ number, address, state }) => `Server ${number} (${address}): ${state}`,
    asked: "is sent its part",
    hasStored: "has stored its part",
    lacks: "does not have it yet",
    problem: ({ message }) => `does not have it yet. ${message}`,
    has: { stored: "has your answers", in: "your answers were used", withdrawn: "your answers were withdrawn",
           refused: "your answers were outside the limits and not used", absent: "your answers were not used" },
    none: "has nothing of yours",
    isClosed: "closed",
    unknown: ({ message }) => `cannot say: ${message}`,
    check: "Ask the servers",
    now: "Try again now",
    replace: "Replace my answers",
    withdraw: "Withdraw my answers",
    reallyWithdraw: "Withdraw your answers from the survey?",
    refused: ({ message }) => `Not accepted. ${message}`,
    otherCampaign: ({ message }) => `Stopped. ${message}`,
  },

  receipt: {
    title: "Your receipt",
    told: "Each server has signed that it has stored its part of your answers. The receipt has no answers in it.",
    toldWithdrawn: "Each server has signed that it has stored that you withdraw your answers.",
    row: ({ number, time }) => `Server ${number} stored it on ${time}.`,
    packet: ({ number }) => `Number of the encrypted answers: ${number}.`,
    save: "Save the receipt",
    print: "Print",
    file: ({ name }) => `receipt-${name}.json`,
  },

  result: {
    title: "Your result",
    ask: "Ask for my result",
    none: ({ message }) => `There is no result for you yet. ${message}`,
  },

  kept: {
    told:
      "This browser keeps your key, your invitation, encrypted answers that are not stored everywhere yet, and what " +
      "decrypts your result. It does not keep your answers. Without these you cannot replace or withdraw anything.",
    forget: "Remove all of this from this browser",
    reallyForget: "Remove it? You will not be able to replace or withdraw your answers, or to read your result.",
  },

  stops: {
    framed: "This page does not work inside another page. Open it by its own address.",
    insecure: "This page must be opened by https.",
    old:
      "This browser is too old for this page, or keeps nothing in private windows. Use a recent Firefox, " +
      "Chrome, Edge or Safari.",
    noCampaign: ({ name, message }) => `The survey ${name}.json cannot be read. ${message}`,
    badName: "The address of this page names a survey in a wrong way.",
    origin: ({ origin }) =>
      `This survey does not allow a page at ${origin}. Tell the person who gave you this address.`,
    otherTab: "This survey is open in another tab or window of this browser. Close that one, and this one continues.",
    failed: ({ message }) => `Something went wrong: ${message}`,
  },
};
