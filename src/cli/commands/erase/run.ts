/**
 * `gov erase --event ID [--field POINTER…] | --subject VALUE`: repeats erasures until none of the values is left.
 * Tested by `test/cli/commands/erase/run.test.ts`.
 */
import type { ErasureDone, ErasureInput } from '../../../contract/erasure.ts';
import { limits } from '../../../contract/limits.ts';
import { isTypeId } from '../../../core/id.ts';
import { shellWord } from '../../../core/shell-word.ts';
import { confirm } from '../../terminal/ask.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { readInput } from '../../terminal/input.ts';
import { safe } from '../../terminal/safe.ts';
import type { erase as spec } from '../../specs/record/erase.ts';
import { plainView } from '../../terminal/view.ts';

type Call = Invocation<typeof spec>;

const view = plainView(['erasureIds', 'leaves', 'fields', 'dryRun', 'keyDestroyed', 'request']);

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, session, settings, signal } = call;
  const asked = await askedFor(call);
  const client = await session.client();
  const { body: found } = await client.createErasure({ body: { ...asked, dryRun: true } });
  const what = `${found.complete ? '' : 'more than '}${found.fields} values of ${found.leaves} events and decisions`;
  const { keyDestroyed: ends } = found;
  if (flags.dryRun || (found.fields === 0 && !ends)) return printFound(call, found, what);
  const key = ends ? ', and destroys the key of the subject' : '';
  await confirm(`this erases ${what} permanently${key}`, '--yes', call);
  const second = flags.request === undefined ? {} : { request: flags.request };
  const erasureIds: string[] = [];
  let leaves = 0;
  let fields = 0;
  let keyDestroyed = false;
  for (let complete = false; !complete;) {
    signal.throwIfAborted();
    // one key for one request; each further request is another one
    const once = erasureIds.length === 0 ? settings.idempotencyKey : undefined;
    const { body } = await client.createErasure({
      body: { ...asked, ...second },
      ...(once === undefined ? {} : { idempotencyKey: once }),
    });
    if (body.erasureId !== null) erasureIds.push(body.erasureId);
    leaves += body.leaves;
    fields += body.fields;
    keyDestroyed ||= body.keyDestroyed;
    complete = body.complete || body.erasureId === null;
  }
  if (!out.isHuman) return out.one({ erasureIds, leaves, fields, dryRun: false, keyDestroyed }, view);
  await out.lines([
    safe`erased ${fields} values of ${leaves} events and decisions: ${erasureIds.join(', ')}`,
    ...(flags.subject === undefined ? [] : [keyDestroyed ? destroyed : kept]),
  ]);
};

const destroyed = safe`  the key of the subject is destroyed: older copies of these values are now unreadable`;
const kept = safe`  no key was destroyed: these values stay readable in older copies, such as backups`;

/** Prints the values that an erasure would erase, or that there are none. */
async function printFound({ flags, out }: Call, found: ErasureDone, what: string): Promise<void> {
  const { leaves, fields, keyDestroyed, request } = found;
  const second = flags.dryRun ? request : undefined;
  if (!out.isHuman) {
    const shown = second === undefined ? {} : { request: second };
    return out.one({ erasureIds: [], leaves, fields, dryRun: flags.dryRun, keyDestroyed, ...shown }, view);
  }
  await out.lines([
    safe`${what}${flags.dryRun ? ' would be erased' : ': nothing to erase'}${keyDestroyed ? ', and the key of the subject' : ''}`,
    ...(second === undefined
      ? []
      : [safe`  another credential carries it out with --request ${shellWord(second)}`]),
  ]);
}

/** Errors: exit 2 unless exactly one of --event and --subject is given. */
async function askedFor({ flags, io, signal }: Call): Promise<ErasureInput> {
  const { event, subject, field, reason } = flags;
  const reasoned = reason === undefined ? {} : { reasonCode: reason };
  if ((event === undefined) === (subject === undefined))
    throw usage('expected --event ID, or --subject VALUE, and not both');
  if (event !== undefined) {
    const fields = field.length === 0 ? {} : { fields: [...new Set(field)] };
    return { [memberOf(event)]: event, ...fields, ...reasoned };
  }
  if (field.length > 0) throw usage('--field: expected none with --subject, which erases all its data');
  const value = subject === '-' ? await typed({ io, signal }) : (subject ?? '');
  // as the service counts them: characters, not UTF-16 units
  const { length } = [...value];
  if (length === 0 || length > limits.subjectValueChars) {
    throw usage(`--subject: expected 1 to ${limits.subjectValueChars} characters, got ${length}`);
  }
  return { subject: value, ...reasoned };
}

function memberOf(id: string): 'eventId' | 'evaluationId' | 'decisionId' {
  if (isTypeId(id, 'evt')) return 'eventId';
  if (isTypeId(id, 'pev')) return 'evaluationId';
  if (isTypeId(id, 'rsk')) return 'decisionId';
  throw usage(
    `--event: expected the id of an event, evaluation or risk decision, got ${JSON.stringify(id.slice(0, 64))}`,
  );
}

/** Reads one line from standard input. */
async function typed(place: Pick<Call, 'io' | 'signal'>): Promise<string> {
  const { bytes } = await readInput('-', place);
  return Buffer.from(bytes)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}
