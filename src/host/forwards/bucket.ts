/**
 * Signed requests to one bucket of an S3-compatible store (AWS Signature Version 4). Proven by
 * `test/host/forwards/objects.test.ts` and `test/host/forwards/verify.test.ts`.
 */
import { sha256Text } from '../../core/hash.ts';
import type { Variables } from '../config/layers.ts';
import type { ObjectTarget } from './config.ts';
import { bodyWithin, Exchange, type Answer } from './exchange.ts';
import { secretAt } from './secure.ts';

const nothing = Buffer.alloc(0);

export class Bucket {
  readonly #target: ObjectTarget;
  readonly #exchange: Exchange;
  readonly #secret: string;
  /** Address of the bucket, without a final slash. */
  readonly #base: string;

  constructor(target: ObjectTarget, env: Variables) {
    this.#target = target;
    const { endpoint, bucket, region } = target;
    this.#base = endpoint === null ? `https://${bucket}.s3.${region}.amazonaws.com` : `${endpoint}/${bucket}`;
    this.#exchange = new Exchange(this.#base.startsWith('https:'), target.tls);
    this.#secret = secretAt(target.secret, env) ?? '';
  }

  /** Rejects where no answer came. */
  async put(key: string, body: Buffer<ArrayBuffer>, type: string): Promise<Answer> {
    return this.#exchange.ask({ ...(await this.#signed('PUT', { key, body, type })), body });
  }

  /** Reads at most `most` bytes of an object, or of a list where the key is empty. Rejects where no answer came. */
  async get(
    key: string,
    { query, most }: { readonly query: Readonly<Record<string, string>>; readonly most: number },
  ): Promise<{ readonly status: number; readonly body: Buffer; readonly isWhole: boolean }> {
    const response = await this.#exchange.open({
      ...(await this.#signed('GET', { key, query })),
      body: nothing,
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
    const path = key === '' ? '' : `/${key.split('/').map(encodeURIComponent).join('/')}`;
    const url = new URL(`${this.#base}${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
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
      service: 's3',
      region,
    }).sign();
    return { method, url: new URL(signedUrl), headers: Object.fromEntries(headers) };
  }

  close(): void {
    this.#exchange.close();
  }
}
