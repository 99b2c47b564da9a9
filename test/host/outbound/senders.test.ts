import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sendersOf, type SendersFile } from '../../../src/host/outbound/senders.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-senders-'));
const dataDir = join(folder, 'plane');
mkdirSync(join(folder, 'reports'));
const read = (file: SendersFile, env: Record<string, string> = {}) =>
  sendersOf(file, { dataDir, path: 'plane.json', env });

describe('the channels of deliveries', () => {
  it('are none by default', () => {
    expect(read({})).toEqual({});
  });

  it('are mail with a mail server, and files with a folder', () => {
    const smtp = { host: 'smtp.example.com', from: 'reports@example.com' };
    expect(Object.keys(read({ smtp }))).toEqual(['mail']);
    expect(Object.keys(read({ deliveryDir: '../reports' }))).toEqual(['file']);
    expect(Object.keys(read({}, { GOV_DELIVERY_DIR: join(folder, 'reports') }))).toEqual(['file']);
  });

  it.each(['.', 'out', '..', '/', 'keys/../out'])(
    'refuses a folder in or around the data directory: %s',
    (deliveryDir) => {
      expect(() => read({ deliveryDir })).toThrow(
        'plane.json /deliveryDir: expected a folder outside of the data directory',
      );
      expect(() => read({}, { GOV_DELIVERY_DIR: deliveryDir })).toThrow(
        'GOV_DELIVERY_DIR: expected a folder',
      );
    },
  );
});
