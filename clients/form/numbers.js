/**
 * Numbers that a person writes, read exactly: as BigInt in units of a column's last bit, or refused.
 * @module
 */

import { decimalIn } from "../js/quorate.js";

const LINES_AT_ONCE = 500;

/** What is wrong with a text: `code` is the name of a sentence in texts.js, `details` are its parameters. */
export class Problem extends Error {
  constructor(code, details = {}) {
    super(code);
    this.code = code;
    this.details = details;
  }
}

/** Returns units of 2^-frac as an exact decimal text. */
export function decimalOf(units, frac) {
  const size = units < 0n ? -units : units;
  const digits = (size * 5n ** BigInt(frac)).toString().padStart(frac + 1, "0");
  const whole = digits.slice(0, digits.length - frac), rest = digits.slice(digits.length - frac).replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${whole}${rest && "."}${rest}`;
}

/** Returns the lowest and the highest value of a column as decimal texts. */
export const boundsOf = ({ low, high, lowest, highest, frac }) =>
  ({ low: low ?? decimalOf(lowest, frac), high: high ?? decimalOf(highest, frac) });

/**
 * Reads one value: `{ units, isExact }`, with `isExact` false if a decimal was rounded to the column's nearest step.
 *
 * Spaces around it are cut. No other form of a number is taken: "52,000", "5e3", "0x10", "+5" and "007" are refused,
 * since each of them has more than one reading, or none that all people share. Throws Problem.
 */
export function readValue(column, text) {
  const cut = text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
  if (!cut) throw new Problem("empty");
  if (!/^-?\d+(\.\d+)?$/.test(cut)) throw new Problem(column.kind === "fixed" ? "notDecimal" : "notInteger");
  if (/^-?0\d/.test(cut)) throw new Problem("leadingZero");
  if (column.kind !== "fixed" && cut.includes(".")) throw new Problem("notInteger");
  const units = decimalIn(cut, column.frac);
  if (units === undefined) throw new Problem("tooLong");
  if (units < column.lowest || units > column.highest) throw new Problem("outside", boundsOf(column));
  return { units, isExact: !cut.includes(".") || isMultiple(cut, column.frac) };
}

/** Whether a decimal text is a multiple of 2^-frac. */
function isMultiple(text, frac) {
  const digits = text.split(".")[1];
  return (BigInt(text.replace(".", "")) << BigInt(frac)) % 10n ** BigInt(digits.length) === 0n;
}

/**
 * Reads a list: one line for each row of the column's shape, with the values of its last axis in it.
 *
 * A line of several values is split at tabs, else at semicolons, else at commas. A comma between two digits is refused,
 * since it may be a decimal comma: "1,5" is one number or two. Empty lines at the end are cut.
 * Between pieces of work the page stays usable; `progress(done, all)` counts lines. Throws Problem, with the line.
 */
export async function readLines(column, text, progress = () => {}) {
  const lines = text.replace(/\s+$/, "").split(/\r\n|\r|\n/);
  const perLine = column.shape.length < 2 ? 1 : column.shape.at(-1);
  const wanted = column.elements / perLine, values = [];
  if (lines.length === 1 && !lines[0]) throw new Problem("empty");
  if (lines.length !== wanted) throw new Problem("rows", { wanted, given: lines.length });
  let isExact = true;
  for (const [at, line] of lines.entries()) {
    if (at % LINES_AT_ONCE === 0) {
      progress(at, lines.length);
      await new Promise((resolve) => setTimeout(resolve));
    }
    const cells = perLine === 1 ? [line] : cellsOf(line, at + 1);
    if (cells.length !== perLine) throw new Problem("cells", { line: at + 1, wanted: perLine, given: cells.length });
    for (const cell of cells) {
      const read = inLine(column, cell, at + 1);
      isExact &&= read.isExact;
      values.push({ units: read.units });
    }
  }
  return { values: nested(values, column.shape), isExact };
}

function cellsOf(line, number) {
  const separator = ["\t", ";"].find((one) => line.includes(one)) ?? ",";
  if (separator === "," && /\d,\d/.test(line)) throw new Problem("comma", { line: number });
  return line.split(separator);
}

function inLine(column, cell, line) {
  try {
    return readValue(column, cell);
  } catch (problem) {
    throw new Problem("inLine", { line, problem });
  }
}

/** Returns a flat list as nested lists of a shape. */
export function nested(values, shape) {
  let list = values;
  for (const axis of shape.slice(1).reverse()) {
    list = Array.from({ length: list.length / axis }, (_, at) => list.slice(at * axis, (at + 1) * axis));
  }
  return list;
}
