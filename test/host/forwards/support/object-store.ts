/** An S3-compatible store on a free port, with the bucket `siem`. It checks signatures of the pair S3RVER, S3RVER. */
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';

export class ObjectStore {
  readonly folder = mkdtempSync(join(tmpdir(), 'gov-s3-'));
  readonly #server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: this.folder,
    configureBuckets: [{ name: 'siem', configs: [] }],
  });
  endpoint = '';

  async start(): Promise<void> {
    const address: AddressInfo = await this.#server.run();
    this.endpoint = `http://127.0.0.1:${address.port}`;
  }

  async stop(): Promise<void> {
    await this.#server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
