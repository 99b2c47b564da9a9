/**
 * What telemetry tests share: a real service over a socket, a plane's own store and keys in a temporary directory with
 * the telemetry of a serving plane on top, a clock that is moved by hand, and a TCP proxy between the two that can hang,
 * refuse, lose answers and count connections.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { vi } from 'vitest';
import { enrolPlane, type EnrolOptions } from '../../../plane/enrolment/exchange.ts';
import {
  writeEnrolment,
  writeTelemetrySettings,
  type Enrolment,
  type TelemetrySettings,
} from '../../../plane/service/enrolment.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { readOutbox, type Outbox } from '../../../plane/telemetry/outbox.ts';
import { Telemetry } from '../../../plane/telemetry/schedule.ts';
import type { MeteredType } from '../../../src/contract/operation.ts';
import type { UsageReport } from '../../../src/contract/telemetry.ts';
import { projectOf, readPlaneFile } from '../../../src/host/data/config.ts';
import { readKeys } from '../../../src/host/keys/disk.ts';
import { Checkpoints } from '../../../src/service/log/checkpoints.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import type { Project } from '../../../src/store/port/store.ts';
import { openStore, type SqliteStore } from '../../../src/store/sqlite/store.ts';
import type { Tenant, TestService } from '../../support/hosted.ts';
import { event, seededBytes } from '../../store/support/fixture.ts';

/** From now on `Date` stands still at this time, for planes and service alike; timers run on. */
export function setClock(ms: number): void {
  if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ['Date'], now: ms });
  vi.setSystemTime(ms);
}

export interface TestTelemetryPlane {
  readonly dataDir: string;
  readonly project: Project;
  readonly store: SqliteStore;
  readonly telemetry: Telemetry;
  /** Appends events in one request, metered as they are; `none` counts nothing. */
  record(events: number, op?: MeteredType | 'none'): Promise<void>;
  enrol(
    options: Pick<EnrolOptions, 'service' | 'token'> & Partial<EnrolOptions>,
  ): ReturnType<typeof enrolPlane>;
  /** Another telemetry on the same files, as after a crash of the process; with this deadline of an exchange. */
  restart(timeoutMs?: number): Promise<void>;
  /** The same with these variables. */
  restartIn(env: Readonly<Record<string, string>>): Promise<void>;
  /** Looks `times` times, moving the clock past the wait of a failed attempt each time. */
  looks(times: number): Promise<void>;
  /** Signs both logs, as a serving plane does every second. */
  sign(): Promise<void>;
  read<Result>(use: (outbox: Outbox) => Result): Result;
  reports(): UsageReport[];
  end(): Promise<void>;
}

export interface PlaneOptions {
  readonly environment?: Project['environment'];
  readonly settings?: TelemetrySettings;
  /** Seed of what spreads the waits. */
  readonly seed?: string;
}

export async function startTelemetryPlane(options: PlaneOptions = {}): Promise<TestTelemetryPlane> {
  const { environment = 'production' } = options;
  const folder = mkdtempSync(join(tmpdir(), 'gov-telemetry-'));
  const dataDir = join(folder, 'plane');
  await planeInit({ dataDir, environment });
  if (options.settings !== undefined) writeTelemetrySettings(dataDir, options.settings);
  const plane = openTelemetryPlane(dataDir, options);
  return Object.create(plane, {
    end: { value: () => plane.end().then(() => rmSync(folder, { recursive: true, force: true })) },
  });
}

/** What stands in the outbox of a plane, which may be at work. */
function reading(dataDir: string): Pick<TestTelemetryPlane, 'read' | 'reports'> {
  const read: TestTelemetryPlane['read'] = (use) => {
    const outbox = readOutbox(dataDir);
    try {
      return use(outbox);
    } finally {
      outbox.close();
    }
  };
  const reports = (): UsageReport[] =>
    read((outbox) => {
      const { dataPlaneId } = JSON.parse(readFileSync(join(dataDir, 'keys/telemetry.json'), 'utf8'));
      return Array.from(outbox.reports(dataPlaneId, { queued: false }), ({ body }) => JSON.parse(body));
    });
  return { read, reports };
}

/** A plane that is there already, by whatever clock. */
export function openTelemetryPlane(
  dataDir: string,
  { seed = 'waits', now = Date.now }: PlaneOptions & { readonly now?: () => number } = {},
): TestTelemetryPlane {
  const project = projectOf(readPlaneFile(join(dataDir, 'plane.json')));
  const { projectId } = project;
  const randomBytes = seededBytes(`${seed} ${projectId}`);
  const store = openStore({ dataDir, clock: { now }, randomBytes, reserveBytes: 0 });
  const { signers, telemetrySigners } = readKeys(dataDir);
  const checkpoints = new Checkpoints({ store, now, log: silentLog, signers });
  const waits = seededBytes(seed);
  const make = (timeoutMs?: number, env: Readonly<Record<string, string>> = {}): Telemetry =>
    new Telemetry({
      dataDir,
      project,
      reader: store,
      signers: telemetrySigners,
      signedSize: async (tree) => (await checkpoints.sign(projectId, tree)).checkpoint.size,
      now,
      randomBytes,
      env,
      log: silentLog,
      random: () => waits(4).readUInt32BE() / 2 ** 32,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  const plane = { telemetry: make() };
  return {
    ...reading(dataDir),
    dataDir,
    project,
    store,
    get telemetry() {
      return plane.telemetry;
    },
    record: async (events, op = 'audit_event') => {
      const leaves = Array.from({ length: events }, () =>
        event({ timestamp: new Date(now()).toISOString() }),
      );
      const units = op === 'none' ? 0 : op === 'audit_event' ? 'accepted' : 1;
      const outcome = await store.append({ projectId, leaves, meter: { op, units } });
      if (outcome.outcome !== 'stored') throw new Error(`expected stored, got ${outcome.outcome}`);
    },
    enrol: (more) => enrolPlane({ dataDir, env: {}, now, ...more }),
    restart: async (timeoutMs) => {
      await plane.telemetry.stop();
      plane.telemetry = make(timeoutMs);
    },
    restartIn: async (env) => {
      await plane.telemetry.stop();
      plane.telemetry = make(undefined, env);
    },
    looks: async (times) => {
      for (let look = 0; look < times; look++) {
        await plane.telemetry.look();
        setClock(Date.now() + 300_001);
      }
    },
    sign: async () => {
      for (const tree of ['audit', 'metering'] as const) await checkpoints.sign(projectId, tree);
    },
    end: async () => {
      await plane.telemetry.stop();
      await checkpoints.stop();
      await store.close();
    },
  };
}

/** A data plane that is registered, with its token. */
export async function register(
  tenant: Tenant,
  name = 'plane',
): Promise<{ dataPlaneId: string; token: string }> {
  const { status, body, text } = await tenant.call('POST', '/telemetry/planes', { body: { name } });
  if (status !== 201) throw new Error(text);
  return { dataPlaneId: body.dataPlane.dataPlaneId, token: body.enrolmentToken };
}

/** How the proxy treats a connection; `lose`: the request arrives, its answer does not. */
export type Weather =
  | 'clear'
  | 'refuse'
  | 'hang'
  | 'lose'
  | { readonly answer: string }
  /** The first so many answers of a connection come, the next one is lost. */
  | { readonly loseAfter: number };

export interface Wire {
  readonly origin: string;
  /** Of the next connections. */
  weather: Weather;
  /** Connections so far, and the most at one time. */
  connections: number;
  most: number;
  close(): Promise<void>;
}

/** A TCP proxy before the service, whose answers say the time of the clock that `setClock` set. */
export async function startWire(service: Pick<TestService, 'port'>): Promise<Wire> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    wire.connections += 1;
    sockets.add(socket);
    wire.most = Math.max(wire.most, sockets.size);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    treat(socket, wire, service.port);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const wire: Wire = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    weather: 'clear',
    connections: 0,
    most: 0,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
  return wire;
}

function treat(socket: Socket, { weather }: Wire, port: number): void {
  if (weather === 'refuse') return void socket.resetAndDestroy();
  if (weather === 'hang') return void socket.resume();
  if (typeof weather === 'object' && 'answer' in weather) {
    socket.once('data', () => socket.end(weather.answer));
    return;
  }
  const through = connect(port, '127.0.0.1');
  through.on('error', () => socket.destroy());
  socket.pipe(through);
  socket.on('close', () => through.destroy());
  if (weather === 'clear') {
    through.on('data', (chunk) => socket.write(dated(chunk)));
    through.on('close', () => socket.destroy());
  } else {
    // the whole answer has come by then, and nobody gets it
    let answers = typeof weather === 'object' ? weather.loseAfter : 0;
    through.on('data', (chunk) => (answers-- > 0 ? socket.write(dated(chunk)) : socket.resetAndDestroy()));
  }
}

/** What writes the header of a service looks at no `Date` that a test set. The length stays. */
function dated(chunk: Buffer): Buffer {
  if (!vi.isFakeTimers()) return chunk;
  const text = chunk.toString('latin1');
  const set = `\r\nDate: ${new Date().toUTCString()}\r\n`;
  return Buffer.from(text.replace(/\r\ndate: [^\r]{29}\r\n/i, set), 'latin1');
}

/** An answer of whatever stands in the way. */
export const answer = (
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): Weather => ({
  answer: [
    `HTTP/1.1 ${status} Word`,
    ...Object.entries({
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n'),
});

export const hashOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

const pairOf = (fill: string) => ({
  key: `gov_hyb_${fill.repeat(38)}`,
  signingSecret: `whsec_${Buffer.alloc(32, fill).toString('base64')}`,
});

/** An enrolment with no service behind it, for what is about the plane alone. */
export const fakeEnrolment: Enrolment = {
  service: 'http://127.0.0.1:9/api/v1',
  dataPlaneId: 'dpl_01jq3v5k8hf7wb3c9x2m4n6p8r',
  projectId: 'prj_01jq3v5k8hf7wb3c9x2m4n6p8r',
  environment: 'production',
  cosignerKey: 'nobody',
  configKey: null,
  current: pairOf('a'),
  previous: null,
  reportIntervalSeconds: 3600,
  caFile: null,
  certificateFile: null,
  certificateKeyFile: null,
  enrolledAt: '2026-10-20T09:00:00.000Z',
};

export const enrolFake = (dataDir: string, members: Partial<Enrolment> = {}): void =>
  writeEnrolment(dataDir, { ...fakeEnrolment, ...members });
