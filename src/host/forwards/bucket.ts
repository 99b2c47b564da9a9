/**
 * Signed requests to one bucket of an S3-compatible store (AWS Signature Version 4). Proven by
 * `test/host/forwards/objects.test.ts` and `test/host/forwards/verify.test.ts`.
 */
import { sha256Text } from '../../core/hash.ts';
import type { Variables } from '../config/layers.ts';
import type { ObjectTarget } from './config.ts';
import { secretOf } from '../config/secrets.ts';
import { bodyWithin, Exchange, type Answer } from './exchange.ts';
import { secretAt } from './secure.ts';
import { errorText } from './store-xml.ts';

const nothing = Buffer.alloc(0);

export class Bucket {
  readonly #target: ObjectTarget;
  readonly #exchange: Exchange;
  readonly #secret: string;
  readonly #sessionToken: string | undefined;
  /** Address of the bucket, without a final slash. */
  readonly address: string;

  constructor(target: ObjectTarget, env: Variables) {
    this.#target = target;
    const { endpoint, bucket, region } = target;
    this.address =
      endpoint === null ? `https://${bucket}.s3.${region}.amazonaws.com` : `${endpoint}/${bucket}`;
    this.#exchange = new Exchange(this.address.startsWith('https:'), target.tls);
    this.#secret = secretAt(target.secret, env) ?? '';
    // temporary credentials of AWS are three variables; a key from another place has no token
    const isOfAws = target.secret.env === 'AWS_SECRET_ACCESS_KEY';
    this.#sessionToken = isOfAws ? secretOf(env, 'AWS_SESSION_TOKEN')?.value : undefined;
  }

  /** Rejects where no answer came. */
  async put(key: string, body: Buffer<ArrayBuffer>, type: string): Promise<Answer> {
    const answer = await this.#exchange.ask({ ...(await this.#signed('PUT', { key, body, type })), body });
    return { ...answer, text: errorText(answer.text) };
  }

  /** Reads at most `most` bytes of an object, or of a list where the key is empty. Rejects where no answer came. */
  async get(
    key: string,
    {
      query,
      most,
      signal,
    }: {
      readonly query: Readonly<Record<string, string>>;
      readonly most: number;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<{ readonly status: number; readonly body: Buffer; readonly isWhole: boolean }> {
    const response = await this.#exchange.open({
      ...(await this.#signed('GET', { key, query })),
      body: nothing,
      signal,
    });
    return { status: response.statusCode ?? 0, ...(await bodyWithin(response, most)) };
  }

  async #signed<Method extends 'PUT' | 'GET'>(
    method: Method,
    {
      key,
      query = {},
      body = nothing,
      type,
    }: {
      readonly key: string;
      readonly query?: Readonly<Record<string, string>>;
      readonly body?: Buffer;
      readonly type?: string;
    },
  ): Promise<{
    readonly method: Method;
    readonly url: URL;
    readonly headers: Readonly<Record<string, string>>;
  }> {
    const { accessKeyId, region } = this.#target;
    // a store may sign the address of a bucket without its last slash
    const path = key === '' ? '' : `/${key.split('/').map(percentEncoded).join('/')}`;
    const search = Object.entries(query).map((pair) => pair.map(percentEncoded).join('='));
    const url = new URL(`${this.address}${path}${search.length === 0 ? '' : `?${search.join('&')}`}`);
    const { AwsV4Signer } = await import('aws4fetch');
    const { url: signedUrl, headers } = await new AwsV4Signer({
      method,
      url: url.href,
      headers: {
        ...(type === undefined ? {} : { 'content-type': type }),
        'x-amz-content-sha256': sha256Text(body).slice('sha256:'.length),
      },
      accessKeyId,
      secretAccessKey: this.#secret,
      ...(this.#sessionToken === undefined ? {} : { sessionToken: this.#sessionToken }),
      service: 's3',
      region,
    }).sign();
    return { method, url: new URL(signedUrl), headers: Object.fromEntries(headers) };
  }

  close(): void {
    this.#exchange.close();
  }
}

/** As the signature has it (RFC 3986): every character but letters, digits, `-`, `.`, `_` and `~`. */
const percentEncoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
