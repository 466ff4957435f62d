// Numbers as people write them: exact, or refused by the name of a sentence that is there.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Problem, boundsOf, decimalOf, nested, readLines, readValue } from "./numbers.js";
import { texts } from "./texts.js";

const column = (kind, bits, frac = 0, more = {}) => {
  const lowest = kind === "uint" || kind === "bit" ? 0n : -(1n << BigInt(bits - 1));
  return { kind, bits, frac, lowest, highest: lowest + (1n << BigInt(bits)) - 1n, shape: [], elements: 1, ...more };
};

const INT = column("int", 64), FIXED = column("fixed", 64, 16);
const problem = (code) => (error) => {
  assert.ok(error instanceof Problem, String(error));
  assert.equal(error.code, code);
  assert.ok(Object.hasOwn(texts.problems, code));
  return true;
};

describe("one value", () => {
  for (const [text, units] of [
    ["0", 0n], ["-0", 0n], ["52000", 52000n], [" 7\t\n", 7n], ["9007199254740993", 9007199254740993n],
    ["9223372036854775807", 2n ** 63n - 1n], ["-9223372036854775808", -(2n ** 63n)],
  ]) {
    test(`${JSON.stringify(text)} is an integer`, () => {
      assert.deepEqual(readValue(INT, text), { units, isExact: true });
    });
  }

  for (const [text, code] of [
    ["", "empty"], [" \t", "empty"], ["52,000", "notInteger"], ["5e3", "notInteger"], ["0x10", "notInteger"],
    ["5 000", "notInteger"], ["5\u00a0000", "notInteger"], ["\u00a05", "notInteger"], ["５２", "notInteger"],
    ["٣", "notInteger"], ["\u22125", "notInteger"], ["+5", "notInteger"], ["5.0", "notInteger"], ["5.", "notInteger"],
    ["007", "leadingZero"], ["-01", "leadingZero"], ["1n", "notInteger"], ["1_000", "notInteger"],
    ["--1", "notInteger"],
    ["Infinity", "notInteger"], ["NaN", "notInteger"], ["1\u200b", "notInteger"], ["1\n2", "notInteger"],
    ["9223372036854775808", "outside"], ["-9223372036854775809", "outside"], ["9".repeat(60), "tooLong"],
  ]) {
    test(`${JSON.stringify(text)} is none`, () => assert.throws(() => readValue(INT, text), problem(code)));
  }

  test("decimals are exact, or rounded to the nearest step, which is said", () => {
    assert.deepEqual(readValue(FIXED, "0.5"), { units: 32768n, isExact: true });
    assert.deepEqual(readValue(FIXED, "-1.50"), { units: -98304n, isExact: true });
    assert.deepEqual(readValue(FIXED, "0.1"), { units: 6554n, isExact: false });
    assert.deepEqual(readValue(FIXED, "140737488355327.5"), { units: 2n ** 63n - 32768n, isExact: true });
    assert.equal(readValue(FIXED, "9007199254740.0000152587890625").units, 9007199254740n * 65536n + 1n);
    assert.equal(decimalOf(6554n, 16), "0.100006103515625");
    for (const text of ["1,5", "1.5e3", ".5", "5.", "1.2.3", "1/2"]) {
      assert.throws(() => readValue(FIXED, text), problem("notDecimal"));
    }
    assert.throws(() => readValue(FIXED, `0.${"1".repeat(81)}`), problem("tooLong"));
    assert.throws(() => readValue(FIXED, "140737488355327.99999999"), problem("outside"));
  });

  test("bounds are exact", () => {
    const narrow = { ...INT, low: "-5", high: "9007199254740993", lowest: -5n, highest: 9007199254740993n };
    for (const [text, units] of [["-5", -5n], ["9007199254740993", 9007199254740993n]]) {
      assert.equal(readValue(narrow, text).units, units);
    }
    for (const text of ["-6", "9007199254740994"]) assert.throws(() => readValue(narrow, text), problem("outside"));
    assert.deepEqual(boundsOf(column("fixed", 8, 4)), { low: "-8", high: "7.9375" });
    assert.deepEqual(boundsOf(column("uint", 64)), { low: "0", high: "18446744073709551615" });
  });

  test("units as decimals", () => {
    const pairs = [[0n, 0, "0"], [-3n, 1, "-1.5"], [1n, 8, "0.00390625"], [-1n, 2, "-0.25"], [256n, 8, "1"],
                   [-70n, 0, "-70"]];
    for (const [units, frac, text] of pairs) assert.equal(decimalOf(units, frac), text);
  });
});

describe("lines", () => {
  const list = (...shape) => column("int", 32, 0, { shape, elements: shape.reduce((size, axis) => size * axis, 1) });
  const units = (...numbers) => numbers.map((number) => ({ units: BigInt(number) }));

  test("one value each", async () => {
    const found = await readLines(list(3), "1\r\n-2\n 3 \n\n");
    assert.deepEqual(found, { values: units(1, -2, 3), isExact: true });
  });

  for (const separator of [", ", ";", "\t", " , "]) {
    test(`tables with ${JSON.stringify(separator)}`, async () => {
      const { values } = await readLines(list(2, 2), `1${separator}2\n3${separator}4\n`);
      assert.deepEqual(values, [units(1, 2), units(3, 4)]);
    });
  }

  test("three axes", async () => {
    const { values } = await readLines(list(2, 1, 2), "1;2\n3;4");
    assert.deepEqual(values, [[units(1, 2)], [units(3, 4)]]);
    assert.deepEqual(nested([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2]), [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]);
  });

  test("what does not fit is refused with its line", async () => {
    const refused = async (shape, text, code) => {
      let found;
      await assert.rejects(readLines(list(...shape), text), (error) => {
        found = error.details;
        return problem(code)(error);
      });
      return found;
    };
    await refused([2], "", "empty");
    assert.deepEqual(await refused([2], "1\n2\n3", "rows"), { wanted: 2, given: 3 });
    assert.deepEqual(await refused([2], "1\n\n2", "rows"), { wanted: 2, given: 3 });
    assert.equal((await refused([2], "52,000\n1", "inLine")).problem.code, "notInteger");
    assert.deepEqual(await refused([2, 2], "1, 2\n1,5", "comma"), { line: 2 });
    assert.deepEqual(await refused([2, 2], "1, 2\n3", "cells"), { line: 2, wanted: 2, given: 1 });
    assert.equal((await refused([2, 2], "1;2\n1,5;2", "inLine")).problem.code, "notInteger");
    assert.equal((await refused([2, 2], "1, 2\n3,", "inLine")).problem.code, "empty");
    assert.equal((await refused([1], "2147483648", "inLine")).line, 1);
  });

  test("thousands of lines leave time to others", async () => {
    let turns = 0, isDone = false;
    const count = () => !isDone && (turns++, setTimeout(count));
    count();
    const told = [];
    await readLines(list(5000), Array.from({ length: 5000 }, (_, at) => at).join("\n"), (done) => told.push(done));
    isDone = true;
    assert.ok(turns >= 8, String(turns));
    assert.deepEqual(told.slice(0, 3), [0, 500, 1000]);
  });
});
