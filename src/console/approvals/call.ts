/**
 * What an approval is about, in words: who wants to call which tool, and its arguments one by one. Agents write these
 * texts, so nothing here trusts them. Tested by `test/console/hostile.test.ts`.
 */
import type { ShownApproval } from '../../contract/approvals.ts';
import { memberPath, toolText } from '../../core/hidden-text.ts';
import { visibleLine } from '../../core/visible.ts';

const mostLeaves = 40;
const mostChars = 300;

type Actor = ShownApproval['actor'];

/** The name of an actor, else its id; null if it has neither. */
export function actorName(actor: Actor): string | null {
  if (actor === null) return null;
  if (typeof actor === 'string') return actor;
  const named: Readonly<Record<string, unknown>> = { ...actor };
  const name = named['name'] ?? named['id'];
  return typeof name === 'string' ? name : null;
}

/** `pay on bank`, or what a call without a tool is about. */
export const toolName = ({ tool, runId }: Pick<ShownApproval, 'tool' | 'runId'>): string =>
  tool === null ? `a decision in run ${runId}` : toolText(tool);

export interface Leaf {
  /** Where it is: `customer.name`, `items[2].price`. */
  readonly path: string;
  /** In quotes where it could be read as another value, or has blanks that a line does not show. */
  readonly text: string;
  /** Characters that `text` leaves out. */
  readonly cut: number;
}

/** The values of arguments in their order. At most 40 unless `isWhole`; `more` counts the rest. */
export function leavesOf(
  value: Readonly<Record<string, unknown>>,
  { isWhole = false }: { readonly isWhole?: boolean } = {},
): { readonly leaves: readonly Leaf[]; readonly more: number } {
  const all = [...walk(value, '')];
  const leaves = isWhole ? all : all.slice(0, mostLeaves);
  const most = isWhole ? Infinity : mostChars;
  return {
    leaves: leaves.map(({ path, whole }) => ({
      path: visibleLine(path.slice(0, most)),
      text: visibleLine(whole.slice(0, most)),
      cut: Math.max(0, whole.length - most, path.length - most),
    })),
    more: all.length - leaves.length,
  };
}

function* walk(value: unknown, path: string): Generator<{ readonly path: string; readonly whole: string }> {
  if (typeof value !== 'object' || value === null || isEmpty(value)) {
    yield { path, whole: typeof value === 'string' && !isUnclear(value) ? value : JSON.stringify(value) };
  } else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) yield* walk(item, `${path}[${at}]`);
  } else {
    for (const [name, item] of Object.entries(value)) yield* walk(item, memberPath(path, name));
  }
}

/**
 * An empty text, one that looks like another JSON value or like a quoted one, one with blanks at an end, and one with a
 * backslash: outside of quotes `\n` is a line break.
 */
const isUnclear = (text: string): boolean =>
  /^$|^[ "]| $|\\|^(?:true|false|null|\[\]|\{\})$|^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(text);

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

type DecisionFacts = Pick<ShownApproval, 'decidedBy' | 'decidedByName' | 'signature'>;

/** The name of who decided: the signature says it where there is one. */
export const deciderName = ({ decidedBy, decidedByName, signature }: DecisionFacts): string =>
  signature?.name || decidedByName || (decidedBy ?? '');
