/**
 * Names of files of deliveries: relative paths of plain names, which no file system reads as something else. Proven by
 * `test/service/reports/deliveries/checks.test.ts` and `test/host/outbound/folder.test.ts`.
 */
import { signatureNameOf } from '../../../core/reports/artifacts.ts';

const mostFolders = 7;
const mostChars = 400;
/** Neither `.` nor `..`, no hidden file, no separator of any system. */
const plain = /^[A-Za-z0-9_](?:[A-Za-z0-9._ ()+-]{0,198}[A-Za-z0-9_()+-])?$/;

/** Attacker controlled. */
export function isFileName(text: string): boolean {
  const parts = text.split('/');
  return (
    text.length <= mostChars && parts.length <= mostFolders + 1 && parts.every((part) => plain.test(part))
  );
}

export const placeholders = ['executionId', 'date', 'template', 'format'] as const;
const placeholder = new RegExp(`\\{(${placeholders.join('|')})\\}`, 'g');

/** The name with its placeholders replaced. */
export const filledName = (
  text: string,
  values: Readonly<Record<(typeof placeholders)[number], string>>,
): string => text.replace(placeholder, (_, name: (typeof placeholders)[number]) => values[name]);

/** The longest values, so that a name that is accepted has no more than the allowed characters later. */
const sample = {
  executionId: 'rex_01jq3v5k8hf7wb3c9x2m4n6p8r',
  date: '2026-03-31',
  // longer than the id of any built-in template
  template: 'tpl_01jq3v5k8hf7wb3c9x2m4n6p8r',
  format: 'json',
};

/** Whether a name with placeholders becomes a file name, also that of the signature beside a JSON report. */
export function isFileTarget(text: string): boolean {
  const name = filledName(text, sample);
  return isFileName(name) && isFileName(signatureNameOf(name));
}

/** Whether each report of a schedule gets a name of its own. */
export const isDifferentEachTime = (text: string): boolean => /\{(?:executionId|date)\}/.test(text);
