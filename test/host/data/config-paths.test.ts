import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { planeFileSchema, readPlaneConfig } from '../../../src/host/data/config.ts';
import { outboundOf } from '../../../src/host/outbound/config.ts';
import { sendersOf } from '../../../src/host/outbound/senders.ts';
import { filePath } from '../../../src/host/config/layers.ts';
import { schedulingOf } from '../../../src/host/process/scheduling.ts';
import { readServiceConfig, serviceFileSchema } from '../../../src/host/service/config.ts';
import type { JsonSchema } from '../../../src/service/call/explain.ts';
import { typeId } from '../../../src/core/id.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'gov-config-paths-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const relativePath = 'given/file';
const issuer = { url: 'https://id.example', clientId: 'gov' };
const smtp = { host: 'localhost', from: 'gov@example.com' };
const https = { name: 'siem', to: 'https://siem.example' };

/** Each member that is a path, set to the relative path, with the members that it needs beside it. */
const files: Readonly<Record<string, object>> = {
  '/tlsCert': { tlsCert: relativePath, tlsKey: '/elsewhere' },
  '/tlsKey': { tlsCert: '/elsewhere', tlsKey: relativePath },
  '/tlsClientCa': { tlsCert: '/elsewhere', tlsKey: '/elsewhere', tlsClientCa: relativePath },
  '/outboundCa': { outboundCa: relativePath },
  '/smtp/passwordFile': { smtp: { ...smtp, passwordFile: relativePath } },
  '/smtp/ca': { smtp: { ...smtp, ca: relativePath } },
  '/deliveryDir': { deliveryDir: relativePath },
  '/cronSecretFile': { cronSecretFile: relativePath },
  '/issuer/clientSecretFile': { issuer: { ...issuer, clientSecretFile: relativePath } },
  '/exportDir': { exportDir: relativePath },
  '/billing/stripeKeyFile': { billing: { stripeKeyFile: relativePath } },
  '/forwards/ca': { forwards: [{ ...https, ca: relativePath }] },
  '/forwards/cert': { forwards: [{ ...https, cert: relativePath, key: '/elsewhere' }] },
  '/forwards/key': { forwards: [{ ...https, cert: '/elsewhere', key: relativePath }] },
  '/forwards/secretFile': { forwards: [{ ...https, secretFile: relativePath }] },
};

/** Pointers of the members of a schema that are paths. */
function pathsIn(schema: JsonSchema, at = ''): string[] {
  if (schema === filePath) return [at];
  const { properties = {}, items } = schema as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly items?: JsonSchema;
  };
  const members = Object.entries(properties).flatMap(([name, member]) => pathsIn(member, `${at}/${name}`));
  return items === undefined ? members : [...members, ...pathsIn(items, at)];
}

/** The configuration that the file gives, or the refusal of a file that does not exist. */
function outcome(name: string, file: object, read: () => unknown): string {
  writeFileSync(join(dataDir, name), JSON.stringify(file), { mode: 0o600 });
  try {
    return JSON.stringify(read());
  } catch (error) {
    return (error as Error).message;
  }
}

const planeFile = {
  listen: '127.0.0.1:7460',
  metricsListen: null,
  projectId: typeId('prj', 0, Buffer.alloc(10)),
  organizationId: typeId('org', 0, Buffer.alloc(10)),
  environment: 'sandbox',
  origin: 'gov.local/audit',
  meteringOrigin: 'gov.local/metering',
};

describe('paths of a configuration file', () => {
  it.each(pathsIn(planeFileSchema))('%s of plane.json is relative to the data directory', (pointer) => {
    const read = () => {
      const config = readPlaneConfig(dataDir, {}, {});
      const place = { dataDir, path: join(dataDir, 'plane.json'), env: {} };
      return [
        config.tls,
        config.targets,
        outboundOf(config, place),
        sendersOf(config, place),
        schedulingOf(config, place),
      ];
    };
    const found = outcome('plane.json', { ...planeFile, ...files[pointer] }, read);
    expect(found).toContain(join(dataDir, relativePath));
  });

  it.each(pathsIn(serviceFileSchema))('%s of service.json is relative to the data directory', (pointer) => {
    const file = { listen: '127.0.0.1:7470', metricsListen: null, name: 'gov.local', ...files[pointer] };
    const found = outcome('service.json', file, () => readServiceConfig(dataDir, {}, {}));
    expect(found).toContain(join(dataDir, relativePath));
  });
});
