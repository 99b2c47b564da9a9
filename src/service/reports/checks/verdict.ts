/**
 * Decides what a check of a report says (contract L20). A check states how many things of its data could have made it fail.
 * PASS needs at least one of them, and a look at all. Else the check is NOT SHOWN, with what is missing. No template makes a
 * check in another way: the type `JudgedCheck` comes from here alone.
 * Proven by `test/service/reports/checks/verdict.test.ts` and, for each check, by `fails.test.ts` in the same folder.
 */
import type { ReportCheck } from '../../../core/reports/model.ts';
import { restsOn } from './names.ts';

declare const judgedHere: unique symbol;

/** A check whose status follows from what was examined. */
export type JudgedCheck = ReportCheck & { readonly [judgedHere]: true };

export interface Examination {
  /** Things of this data that were looked at. Each of them could have made the check fail. */
  readonly examined: number;
  /** How many of them did. */
  readonly failed: number;
  /** What was found, with its numbers. */
  readonly detail: string;
  /** Why nothing was examined: what the data lacks, and how to get it. */
  readonly none: string;
  /** What was not looked at, and who shows it; null where all was. */
  readonly missing?: string | null;
}

export function judged(name: string, of: Examination): JudgedCheck {
  const { examined, failed, detail, none, missing = null } = of;
  if (!Number.isSafeInteger(examined) || !Number.isSafeInteger(failed) || failed < 0 || failed > examined)
    throw new Error(`${name}: expected 0 to ${examined} failed things, got ${failed}`);
  if (examined === 0) return check(name, 'not_shown', none);
  const said = [detail, ...(missing === null ? [] : [missing])].join(' ');
  if (failed > 0) return check(name, 'fail', said);
  return check(name, missing === null ? 'pass' : 'not_shown', said);
}

/** What the report cannot know yet: never PASS, never FAIL. */
export const unanswered = (name: string, detail: string): JudgedCheck => check(name, 'not_shown', detail);

/** The checks with each PASS that rests on a failed check as NOT SHOWN (contract L22). */
export function settled(all: readonly JudgedCheck[]): JudgedCheck[] {
  const failed = new Set(all.filter(({ status }) => status === 'fail').map(({ name }) => name));
  return all.map((each) => {
    const fault = each.status === 'pass' ? restsOn(each.name).find((name) => failed.has(name)) : undefined;
    return fault === undefined ? each : unanswered(each.name, `It rests on “${fault}”, which failed.`);
  });
}

/** The same check under another name, for a report that has two of that name. */
export const renamed = (of: JudgedCheck, name: string): JudgedCheck => check(name, of.status, of.detail);

const check = (name: string, status: ReportCheck['status'], detail: string): JudgedCheck =>
  // the mark is a type alone, so that the data of a report has no member for it
  ({ name, status, detail }) as JudgedCheck;
