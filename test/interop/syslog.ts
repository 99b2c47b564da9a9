/**
 * A plane forwards to real receivers over TLS: syslog-ng and rsyslog (Debian), which parse structured data and CEF. By
 * hand, because CI has neither: `scripts/with-node node test/interop/syslog.ts`. It needs `syslog-ng` or
 * `rsyslogd` in the path; `RSYSLOG_ROOT` names a folder where `dpkg -x` unpacked rsyslog, rsyslog-openssl, libestr0,
 * libfastjson4. Neither needs root.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planeInit } from '../../plane/data/init.ts';
import { planeServe } from '../../plane/serve/start.ts';
import { addTarget, tryTarget } from '../../src/host/data/forwards.ts';
import { silentLog } from '../../src/service/call/log.ts';
import { makeAuthority } from '../support/certificates.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-syslog-'));
const authority = makeAuthority(folder);
const [server, client] = [authority.issue('server'), authority.issue('client')];
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

interface Peer {
  readonly name: string;
  readonly port: number;
  readonly file: string;
  readonly child: ChildProcess;
}

/** Writes structured data, and the pairs that its CEF parser found, as one line of tabs for each message. */
async function startSyslogNg(): Promise<Peer | null> {
  if (!existsSync('/usr/sbin/syslog-ng')) return null;
  const port = await freePort();
  const [home, file] = [join(folder, 'ng'), join(folder, 'ng.out')];
  mkdirSync(home);
  const config = join(home, 'syslog-ng.conf');
  writeFileSync(
    config,
    `@version: 3.35
source s { syslog(ip(127.0.0.1) port(${port}) transport("tls")
  tls(key-file("${server.keyFile}") cert-file("${server.certFile}") ca-file("${authority.certFile}") peer-verify(required-trusted))); };
destination d { file("${file}" template("\${.SDATA.gov@32473.index}\\t\${.SDATA.gov@32473.leafHash}\\t\${.SDATA.gov@32473.origin}\\t\${PROGRAM}\\t\${MSGID}\\t\${MSG}\\n")); };
log { source(s); destination(d); flags(flow-control); };
`,
  );
  const paths = ['-f', config, '-R', join(home, 'persist'), '-p', join(home, 'pid'), '-c', join(home, 'ctl')];
  const child = spawn('/usr/sbin/syslog-ng', ['-F', ...paths, '--no-caps'], { stdio: 'inherit' });
  return { name: 'syslog-ng', port, file, child };
}

async function startRsyslog(): Promise<Peer | null> {
  const root = process.env['RSYSLOG_ROOT'] ?? '/';
  const binary = join(root, 'usr/sbin/rsyslogd');
  if (!existsSync(binary)) return null;
  const port = await freePort();
  const [home, file] = [join(folder, 'rs'), join(folder, 'rs.out')];
  mkdirSync(home);
  const config = join(home, 'rsyslog.conf');
  writeFileSync(
    config,
    `global(workDirectory="${home}" maxMessageSize="64k" defaultNetstreamDriver="ossl"
  defaultNetstreamDriverCAFile="${authority.certFile}" defaultNetstreamDriverCertFile="${server.certFile}" defaultNetstreamDriverKeyFile="${server.keyFile}")
module(load="imtcp" streamDriver.name="ossl" streamDriver.mode="1" streamDriver.authMode="x509/certvalid")
module(load="mmpstrucdata")
input(type="imtcp" port="${port}" address="127.0.0.1")
action(type="mmpstrucdata")
template(name="out" type="string" string="%$!rfc5424-sd!gov@32473!index%\\t%$!rfc5424-sd!gov@32473!leafhash%\\t%$!rfc5424-sd!gov@32473!origin%\\t%app-name%\\t%msgid%\\t%msg%\\n")
action(type="omfile" file="${file}" template="out")
`,
  );
  const libraries = join(root, 'usr/lib/x86_64-linux-gnu');
  const child = spawn(
    binary,
    ['-n', '-f', config, '-i', join(home, 'pid'), '-M', join(libraries, 'rsyslog')],
    {
      stdio: 'inherit',
      env: { ...process.env, LD_LIBRARY_PATH: libraries },
    },
  );
  return { name: 'rsyslog', port, file, child };
}

const rows = ({ file }: Peer): string[][] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t'))
    : [];

/** What a client may send to break a parser. */
const nasty = [
  'plain',
  'a|b\\c=d"e]f',
  'two\nlines\r\n<13>1 - - forged - - - x',
  'CEF:0|x|y|z|1|forged|10|act=allow',
  '𝕏 ü ☃ \u202e \u001b[31m',
  '] [x@1 y="z"',
];

async function check(peer: Peer, format: 'syslog' | 'cef' | 'ocsf'): Promise<void> {
  const dataDir = join(folder, `plane-${peer.name}-${format}`);
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  addTarget(dataDir, {
    name: 'siem',
    to: `syslog+tls://localhost:${peer.port}`,
    format,
    from: 'start',
    ca: authority.certFile,
    cert: client.certFile,
    key: client.keyFile,
  });
  const before = rows(peer).length;
  const tried = await tryTarget(dataDir, 'siem', { env: {}, nowMs: Date.now(), random: 'interop' });
  console.log(peer.name, format, 'test:', tried.said);
  const plane = await planeServe({ dataDir, log: silentLog, env: {} });
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  for (const text of nasty) {
    const body = JSON.stringify({
      runId: 'interop',
      eventType: 'tool.call',
      actor: { id: text, name: text, role: text },
      resource: { name: text },
      action: 'read',
      timestamp: new Date().toISOString(),
      metadata: { text },
    });
    const answer = await fetch(`${plane.baseUrl}/events`, { method: 'POST', headers, body });
    if (answer.status !== 201) throw new Error(`expected 201, got ${answer.status}`);
  }
  const ask = async (path: string) =>
    (await (await fetch(plane.baseUrl + path, { headers })).json()) as never;
  let status: { state: string; treeSize: number; lastError: string | null } | undefined;
  for (let waited = 0; waited < 30_000 && status?.state !== 'current'; waited += 250) {
    await wait(250);
    status = ((await ask('/operations/forwards')) as { data: [typeof status] }).data[0];
  }
  if (status?.state !== 'current') throw new Error(`${peer.name} ${format}: ${JSON.stringify(status)}`);
  const { events } = (await ask('/events?runId=interop')) as {
    events: { sequence: number; leafHash: string }[];
  };
  await plane.close();
  await wait(500);
  const got = rows(peer).slice(before);
  if (got.length !== status.treeSize + 1) {
    throw new Error(`${peer.name} ${format}: expected ${status.treeSize + 1} rows, got ${got.length}`);
  }
  for (const { sequence, leafHash } of events) {
    const found = got.find(([index, hash]) => index === String(sequence) && hash === leafHash);
    if (found === undefined) throw new Error(`${peer.name} ${format}: leaf ${sequence} is missing`);
    if (found[3] !== 'gov' || found[4] !== 'tool.call') throw new Error(`header: ${found.join(' ')}`);
    const message = found.slice(5).join('\t').trim();
    if (format === 'cef' && !message.startsWith('CEF:0|gov|gov|')) throw new Error(`CEF: ${message}`);
    if (format === 'ocsf' && (JSON.parse(message) as { class_uid: number }).class_uid !== 6003)
      throw new Error(message);
  }
  console.log(peer.name, format, `ok: ${got.length} messages, each leaf index and hash as in the log`);
}

const peers: Peer[] = [];
try {
  for (const start of [startSyslogNg, startRsyslog]) {
    const peer = await start();
    if (peer === null) console.log(`${start.name}: skipped, the program is missing`);
    else peers.push(peer);
  }
  await wait(2000);
  for (const peer of peers)
    for (const format of ['syslog', 'cef', 'ocsf'] as const) await check(peer, format);
} finally {
  for (const { child } of peers) child.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}
