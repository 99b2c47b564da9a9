/**
 * Batches over HTTP(S): newline-delimited JSON, one JSON array, Splunk's HTTP Event Collector, or the bulk requests of
 * Elasticsearch and OpenSearch, whose ids make a repeated record harmless. Proven by `test/host/forwards/http.test.ts`.
 */
import { hash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import type { HttpShape, HttpTarget } from './config.ts';
import { ofCollector } from './collector.ts';
import {
  Exchange,
  isRefusedContent,
  membersOf,
  readAnswer,
  refusalOf,
  saidIn,
  type Answer,
} from './exchange.ts';
import { secretAt } from './secure.ts';
import {
  failed,
  reasonOf,
  type Batch,
  type Line,
  type SendOutcome,
  type Transport,
  type TransportOptions,
} from './transport.ts';

const mediaTypes = {
  ndjson: 'application/x-ndjson',
  array: 'application/json',
  splunk: 'application/json',
  elastic: 'application/x-ndjson',
} as const satisfies Record<HttpShape, string>;

/** The scheme before the secret in `Authorization`. */
const schemes = { ndjson: 'Bearer ', array: 'Bearer ', splunk: 'Splunk ', elastic: 'ApiKey ' } as const;

export class HttpTransport implements Transport {
  readonly #target: HttpTarget;
  readonly #hostname: string;
  readonly #exchange: Exchange;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(target: HttpTarget, { env, hostname }: TransportOptions) {
    this.#target = target;
    this.#hostname = hostname;
    this.#exchange = new Exchange(target.url.protocol === 'https:', target.tls);
    const secret = secretAt(target.secret, env);
    const scheme = target.header.toLowerCase() === 'authorization' ? schemes[target.shape] : '';
    this.#headers = {
      'content-type': mediaTypes[target.shape],
      'user-agent': 'gov',
      ...(secret === null ? {} : { [target.header.toLowerCase()]: `${scheme}${secret}` }),
    };
  }

  async send(batch: Batch): Promise<SendOutcome> {
    if (batch.lines.length === 0) return { ok: true, isKept: true };
    const body = bodyOf(batch, { shape: this.#target.shape, hostname: this.#hostname });
    let answer: Answer;
    try {
      answer = await this.#exchange.ask({
        method: 'POST',
        url: this.#target.url,
        headers: this.#headers,
        body: Buffer.from(body),
      });
    } catch (error) {
      return failed(reasonOf(error));
    }
    if (this.#target.shape === 'splunk') return ofCollector(answer, batch.lines.length);
    if (answer.status < 200 || answer.status > 299) return refusalOf(answer);
    return this.#target.shape === 'elastic'
      ? ofItems(answer, batch.lines.length)
      : { ok: true, isKept: true, said: saidIn(answer) };
  }

  close(): void {
    this.#exchange.close();
  }
}

interface Form {
  readonly shape: HttpShape;
  readonly hostname: string;
}

/** Lines are JSON, so they become parts of JSON as they are. */
function bodyOf({ lines, source }: Batch, { shape, hostname }: Form): string {
  switch (shape) {
    case 'ndjson':
      return lines.map(({ text }) => `${text}\n`).join('');
    case 'array':
      return `[${lines.map(({ text }) => text).join(',')}]`;
    case 'splunk': {
      const about = `"host":${JSON.stringify(hostname)},"source":${JSON.stringify(source.origin)},"sourcetype":"gov"`;
      return lines
        .map(({ text, timeMs }) => `{"time":${(timeMs / 1000).toFixed(3)},${about},"event":${text}}\n`)
        .join('');
    }
    case 'elastic':
      return lines
        .map((line) => `{"create":{"_id":"${idOf(source.origin, line)}"}}\n${line.text}\n`)
        .join('');
  }
}

/** The same for each repetition of a record: the origin of its log and its leaf index. */
const idOf = (origin: string, { index }: Line): string =>
  `${hash('sha256', origin, 'hex').slice(0, 16)}-${index}`;

/**
 * A bulk answer has a status for each record: 409 says that the index has it already. Only a refused content is final,
 * where others were taken; a missing index, a blocked one or a missing right can be mended, so it is tried again.
 */
function ofItems(answer: Answer, sent: number): SendOutcome {
  // an answer about fewer records is shorter; those that the index has are answered with 409
  if (answer.isLong && sent > 1)
    return failed(
      `the receiver answered more than ${limits.forwardAnswerBytes} bytes about ${sent} records`,
      {
        isRefused: true,
      },
    );
  const { errors, items } = membersOf(readAnswer(answer.text));
  if (errors === false) return { ok: true, isKept: true };
  if (!Array.isArray(items))
    return failed('expected the JSON answer of a bulk request, with items, got another text');
  if (items.length !== sent)
    return failed(`expected a status for each of ${sent} records, got ${items.length}`);
  let refused = 0;
  for (const item of items) {
    const [result] = Object.values(membersOf(item)); // its name is the operation, such as `create`
    const { status: stated, error } = membersOf(result);
    const status = Number(stated ?? 0);
    if (isRefusedContent(status)) refused += 1;
    else if ((status < 200 || status > 299) && status !== 409) {
      return failed(
        `the receiver answered ${status} for a record: ${String(membersOf(error)['reason'] ?? '')}`,
        {
          retryAfterMs: answer.retryAfterMs,
        },
      );
    }
  }
  if (refused === sent)
    return failed(`the receiver refused each of ${sent} records: ${saidIn(answer)}`, { isRefused: true });
  return { ok: true, isKept: true, refused };
}
