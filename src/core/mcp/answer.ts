/**
 * Messages that the proxy writes itself: the answer to a call that did not run, and to a message that it refuses. A model
 * reads them, so they say what happened and what a person can do. Tested by `test/cli/commands/mcp/stdio.test.ts`.
 */
import { shellWord } from '../shell-word.ts';
import { visibleText } from '../visible.ts';
import type { CallMessage } from './message.ts';

type CallHead = Pick<CallMessage, 'id' | 'era' | 'elicits' | 'answered'>;

/** A result with `isError`, which the model reads. It has this form in all revisions. */
export const notRun = ({ id, era }: CallHead, text: string): string =>
  message(id, {
    result: {
      ...(era === '2026' ? { resultType: 'complete' } : {}),
      content: [{ type: 'text', text: `gov: ${visibleText(text)}` }],
      isError: true,
    },
  });

/** Whether the client asks its user about an approval, and then repeats the call. */
export const asksUser = ({ era, elicits, answered }: CallHead): boolean =>
  era === '2026' && elicits && answered === undefined;

/**
 * The call needs a person. In revision 2026-07-28 a client that can ask its user waits and repeats the call; its answer
 * only resumes, and never approves. Anything else gets a result with `isError`.
 */
export function needsApproval(
  call: CallHead,
  { approvalId, reason }: { readonly approvalId: string; readonly reason: string },
): string {
  const how = `A person approves it elsewhere: gov approvals approve ${shellWord(approvalId)}`;
  const text = `not run: approval needed: ${approvalId} (${reason}). ${how}. Then repeat the call unchanged.`;
  if (!asksUser(call)) return notRun(call, text);
  const question = `gov: this call needs an approval: ${approvalId} (${reason}). ${how}. An answer here does not approve it; accept to try again.`;
  return message(call.id, {
    result: {
      resultType: 'input_required',
      requestState: `gov:${approvalId}`,
      inputRequests: {
        approval: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: visibleText(question),
            requestedSchema: { type: 'object', properties: {} },
          },
        },
      },
    },
  });
}

/** A JSON-RPC error. `id` is JSON text. */
export const failure = (id: string | null, code: number, text: string): string =>
  message(id ?? 'null', { error: { code, message: `gov: ${visibleText(text)}` } });

/** `id` is JSON text of the client: spelled as the client spelled it. */
const message = (id: string, members: object): string =>
  `{"jsonrpc":"2.0","id":${id},${JSON.stringify(members).slice(1)}`;
