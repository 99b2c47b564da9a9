/**
 * Answers of Splunk's HTTP Event Collector: its code says more than the HTTP status. A record is left out only where the
 * collector says that it refuses the content; a fault of the token, the index or the address can be mended, so all is sent
 * again. Codes: Splunk, "Troubleshoot HTTP Event Collector". Proven by `test/host/forwards/collector.test.ts`.
 */
import { membersOf, readAnswer, refusalOf, saidIn, type Answer } from './exchange.ts';
import { failed, type SendOutcome } from './transport.ts';

/** 0: success. 24 and 25: taken, and a queue is nearly full. Not 17, by which the health address answers. */
const taken: ReadonlySet<unknown> = new Set([0, 24, 25]);

/** 6: invalid format. 12 and 13: an event is missing or blank. 15: its indexed fields. */
const contents: ReadonlySet<unknown> = new Set([6, 12, 13, 15]);

/** With this code the events before `invalid-event-number` are indexed, and those after it were not read. */
const formatCode = 6;

/** `sent`: lines of the batch. A number that names none of them counts for nothing. */
export function ofCollector(answer: Answer, sent: number): SendOutcome {
  const { status, text, isCut, retryAfterMs } = answer;
  const { code, 'invalid-event-number': at } = membersOf(readAnswer(text));
  if (status >= 200 && status <= 299) {
    if (taken.has(code) || isCut) return { ok: true, isKept: true, said: saidIn(answer) };
    return failed(`expected the answer of an event collector, with code 0, got ${saidIn(answer)}`, {
      retryAfterMs,
    });
  }
  const refusal = refusalOf(answer);
  if (status !== 400) return refusal;
  if (!contents.has(code)) return { ...refusal, isRefused: false };
  const isLine = typeof at === 'number' && Number.isInteger(at) && at >= 0 && at < sent;
  return code === formatCode && isLine ? { ...refusal, refusedAt: at } : refusal;
}
