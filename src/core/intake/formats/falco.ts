/**
 * Alerts of Falco with `json_output: true`, one JSON object a line. Shape: https://falco.org/docs/concepts/outputs/formatting/ and
 * https://falco.org/docs/reference/rules/supported-fields/. Falco joins the words of a command, and names only the fields that a rule
 * prints. Tested by `test/core/intake/formats/kernel.test.ts`.
 */
import type { Format } from '../format.ts';
import { KernelWriter, numberIn } from '../pieces/kernel-events.ts';
import { isSource, textOf, type ImportContext, type ImportedRun, type Source } from '../run.ts';
import { readTime } from '../time.ts';

const name = 'falco';

const isAlert = (value: unknown): value is Source =>
  isSource(value) &&
  typeof value['rule'] === 'string' &&
  typeof value['priority'] === 'string' &&
  isSource(value['output_fields']);

const isLog = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) && value.length > 0 && value.every(isAlert);

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const alerts = isLog(document) ? document : isAlert(document) ? [document] : [];
  const writer = new KernelWriter(name, { opening: alerts[0] }, context);
  for (const [index, alert] of alerts.entries()) write(alert, { writer, key: `line${index}` });
  yield writer.finish(alerts.length);
}

function write(
  alert: Source,
  { writer, key }: { readonly writer: KernelWriter; readonly key: string },
): void {
  const fields = isSource(alert['output_fields']) ? alert['output_fields'] : {};
  const at = readTime(alert['time']);
  const pid = numberIn(fields, 'proc.pid');
  const { rule, priority, hostname, output } = alert;
  const more = { rule, priority, hostname, output, fields };
  const commandLine = textOf(fields['proc.cmdline']);
  const host = ['fd.rip', 'fd.sip'].map((each) => textOf(fields[each])).find((each) => each !== undefined);
  switch (fields['evt.type']) {
    case 'execve':
    case 'execveat':
      if (commandLine === undefined) break;
      return writer.started({
        at,
        key,
        pid,
        ppid: numberIn(fields, 'proc.ppid'),
        path: textOf(fields['proc.exepath']) ?? textOf(fields['proc.exe']),
        commandLine,
        more,
      });
    case 'connect':
      if (host === undefined) break;
      return writer.connected({
        at,
        key,
        host,
        port: numberIn(fields, 'fd.rport') ?? numberIn(fields, 'fd.sport'),
        pid,
        more,
      });
  }
  writer.other(textOf(fields['evt.type']) ?? 'alert', alert, { at, key });
}

export const falco: Format = {
  name,
  about: 'Alerts of Falco with json_output',
  expects: 'lines with rule, priority and output_fields',
  maps: [
    ['evt.type execve with proc.cmdline', 'x.kernel.exec'],
    ['evt.type connect with fd.rip or fd.sip', 'x.kernel.connect'],
    ['any other alert', 'x.kernel.other'],
  ],
  example: [
    {
      time: '2025-07-10T18:36:30.058507097Z',
      rule: 'Terminal shell in container',
      priority: 'Notice',
      source: 'syscall',
      output: 'A shell was spawned',
      output_fields: {
        'evt.type': 'execve',
        'proc.cmdline': 'sh -c uptime',
        'proc.exepath': '/bin/busybox',
        'proc.pid': 42,
        'proc.ppid': 7,
      },
    },
  ],
  detect: (document) => (isLog(document) || isAlert(document) ? 'alerts with output_fields' : undefined),
  isLine: isAlert,
  runs,
};
