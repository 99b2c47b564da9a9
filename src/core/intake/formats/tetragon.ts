/**
 * Events of Tetragon as JSON, one a line (`tetra getevents`, or its export file). Shape:
 * https://tetragon.io/docs/use-cases/process-lifecycle/process-execution/ and https://tetragon.io/docs/reference/grpc-api/. Tetragon
 * joins the arguments of a program. Connections are kprobes of `tcp_connect`, whose first argument is a socket.
 * Tested by `test/core/intake/formats/kernel.test.ts`.
 */
import type { Format } from '../format.ts';
import { KernelWriter, numberIn } from '../pieces/kernel-events.ts';
import { isSource, textOf, type ImportContext, type ImportedRun, type Source } from '../run.ts';
import { readTime } from '../time.ts';

const name = 'tetragon';

const kinds = [
  'process_exec',
  'process_exit',
  'process_kprobe',
  'process_tracepoint',
  'process_uprobe',
  'process_lsm',
  'process_loader',
  'process_throttle',
];
const kindOf = (event: Source): string | undefined => kinds.find((kind) => isSource(event[kind]));

const isEvent = (value: unknown): value is Source =>
  isSource(value) && kindOf(value) !== undefined && typeof value['time'] === 'string';

const isLog = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) && value.length > 0 && value.every(isEvent);

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const events = isLog(document) ? document : isEvent(document) ? [document] : [];
  const writer = new KernelWriter(name, { opening: events[0] }, context);
  for (const [index, event] of events.entries()) write(event, { writer, key: `line${index}` });
  yield writer.finish(events.length);
}

const part = (of: Source, member: string): Source => (isSource(of[member]) ? of[member] : {});

function write(
  event: Source,
  { writer, key }: { readonly writer: KernelWriter; readonly key: string },
): void {
  const kind = kindOf(event) ?? 'event';
  const at = readTime(event['time']);
  const body = part(event, kind);
  const process = part(body, 'process');
  const pid = numberIn(process, 'pid');
  const node = event['node_name'];
  if (kind === 'process_exec') {
    const path = textOf(process['binary']);
    const words = [path, textOf(process['arguments'])].filter((each) => each !== undefined);
    const {
      exec_id: execId,
      parent_exec_id: parentExecId,
      cwd,
      uid,
      flags,
      start_time: startedAt,
      pod,
    } = process;
    const more = { cwd, uid, flags, startedAt, pod, execId, parentExecId, node };
    const ppid = numberIn(part(body, 'parent'), 'pid');
    return writer.started({ at, key, pid, ppid, path, commandLine: words.join(' '), more });
  }
  const socket =
    kind === 'process_kprobe' && body['function_name'] === 'tcp_connect' ? socketIn(body['args']) : {};
  const host = textOf(socket['daddr']);
  if (host === undefined) return writer.other(kind, event, { at, key });
  const more = {
    path: process['binary'],
    commandLine: process['arguments'],
    execId: process['exec_id'],
    node,
  };
  writer.connected({ at, key, host, port: numberIn(socket, 'dport'), pid, more });
}

function socketIn(args: unknown): Source {
  const found = Array.isArray(args) ? args.filter(isSource).map((each) => part(each, 'sock_arg')) : [];
  return found.find((socket) => 'daddr' in socket) ?? {};
}

export const tetragon: Format = {
  name,
  about: 'Events of Tetragon',
  expects: 'lines with process_exec, process_exit or process_kprobe, and time',
  maps: [
    ['process_exec', 'x.kernel.exec'],
    ['process_kprobe of tcp_connect', 'x.kernel.connect'],
    ['any other event', 'x.kernel.other'],
  ],
  example: [
    {
      process_exec: {
        process: {
          exec_id: 'bm9kZTox',
          pid: 52699,
          uid: 0,
          cwd: '/',
          binary: '/usr/bin/whoami',
          flags: 'execve clone',
        },
        parent: { pid: 52698, binary: '/bin/bash' },
      },
      node_name: 'node-1',
      time: '2025-10-07T10:03:33.158Z',
    },
  ],
  detect: (document) => (isLog(document) || isEvent(document) ? 'events of processes' : undefined),
  isLine: isEvent,
  runs,
};
