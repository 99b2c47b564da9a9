/**
 * `lower`, `fold`, `bare`, `path`, `path_in`, `host`, `host_in`, `programs` and `time` of conditions: what a text means. A text
 * that has no one meaning is indeterminate, so a rule about it fails closed. Proven by
 * `test/core/policies/evaluate/tool-texts.test.ts`.
 */
import { bare, fold } from '../tool-text/fold.ts';
import { hostOf, hostTest } from '../../action/host.ts';
import { isWithin, plainPath } from '../tool-text/path.ts';
import { programsOf } from '../../action/shell-programs.ts';
import type { Json } from '../../json/parse.ts';
import { parseTimestamp } from '../../time.ts';
import { isShort, spend } from './budget.ts';
import { Indeterminate } from './indeterminate.ts';
import type { Value } from './indeterminate.ts';
import type { Evaluate, Operand, Site } from './operator.ts';
import { textOf } from './strings.ts';

export type TextFunction = 'lower' | 'fold' | 'path' | 'host' | 'programs' | 'time' | 'bare';
export type Membership = 'path_in' | 'host_in';

/** Null: the text has no one meaning. */
const functions: Readonly<
  Record<TextFunction, (text: string) => string | number | readonly string[] | null>
> = {
  lower: (text) => text.toLowerCase(),
  fold,
  path: plainPath,
  host: hostOf,
  programs: programsOf,
  time: parseTimestamp,
  bare,
};

/** Units for each character; a unit is about 0.1 µs. */
const unitsPerCharacter: Readonly<Record<TextFunction, number>> = {
  lower: 1 / 8,
  fold: 1 / 2,
  path: 1 / 4,
  host: 1 / 4,
  programs: 1,
  time: 1 / 8,
  bare: 1,
};

export function textFunction(op: TextFunction, operand: Operand, site: Site): Evaluate {
  const takeText = textOf(operand, site);
  const noMeaning = site.because('type', operand.read);
  const overBudget = site.because('budget', operand.read);
  const [convert, units] = [functions[op], unitsPerCharacter[op]];
  return (root, item): Value => {
    const text = takeText(operand.evaluate(root, item));
    if (text instanceof Indeterminate) return text;
    if (!spend(Math.ceil(text.length * units))) return overBudget;
    const value = convert(text);
    if (value === null) return noMeaning;
    return typeof value === 'string' && !isShort(value) ? overBudget : (value as Json);
  };
}

/** `path_in` and `host_in`: whether a path lies in one of the folders, or a host is one of the hosts. */
export function membership(
  op: Membership,
  operand: Operand,
  members: readonly string[],
  site: Site,
): Evaluate {
  const plain = textFunction(op === 'path_in' ? 'path' : 'host', operand, site);
  const noMeaning = site.because('type', operand.read);
  const tests = members.map((member) => memberTest(op, member));
  return (root, item) => {
    const value = plain(root, item);
    if (typeof value !== 'string') return value;
    let isUnknown = false;
    for (const test of tests) {
      const answer = test === null ? null : test(value);
      if (answer === true) return true;
      isUnknown ||= answer === null;
    }
    return isUnknown ? noMeaning : false;
  };
}

type Test = (value: string) => boolean | null;

/** Returns the test of a member of the literal list; null if it is no folder, or no host. */
export function memberTest(op: Membership, member: string): Test | null {
  if (op === 'host_in') return hostTest(member);
  const folder = plainPath(member);
  return folder === null ? null : (path) => isWithin(path, folder);
}
