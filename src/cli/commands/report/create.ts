/** `gov report create`: returns at once, after the report is complete, or with the file. Tested by `test/cli/commands/report/run.test.ts`. */
import type { DeliveryInput } from '../../../contract/report-parts.ts';
import { deliveryChannels, reportFormats } from '../../../contract/report-parts.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { checkTarget, completed, deliver } from '../../reports/created.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { safe } from '../../terminal/safe.ts';
import type { reportCreate as spec } from '../../specs/prove/report.ts';

const defaultDays = 30;

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session, settings } = call;
  const { title, timezone, locale, run: runId, until = new Date().toISOString() } = flags;
  const since = flags.since ?? new Date(Date.parse(until) - defaultDays * 86_400_000).toISOString();
  const deliveries = flags.deliver.map(deliveryOf);
  const isDownloaded = flags.out !== undefined || flags.open;
  const target = { out: flags.out, force: flags.force, open: flags.open };
  checkTarget(target, call);
  const client = await session.client();
  const { body } = await client.createExecution({
    body: {
      reportTemplateId: args.template,
      parameters: {
        startTime: since,
        endTime: until,
        ...(runId === undefined ? {} : { runId }),
      },
      ...(flags.format.length === 0 ? {} : { formats: [...flags.format] }),
      ...(title === undefined ? {} : { title }),
      ...(timezone === undefined ? {} : { timezone }),
      ...(locale === undefined ? {} : { locale }),
      ...(deliveries.length === 0 ? {} : { deliveries }),
    },
    idempotencyKey: settings.idempotencyKey,
  });
  const { executionId } = body;
  if (!flags.wait && !isDownloaded) {
    await out.one(body, viewOf('createExecution'));
    if (out.isHuman) await out.note(safe`download it: gov report download ${shellWord(executionId)}`);
    return;
  }
  // in every format: a person who interrupts the wait needs the id
  await out.note(safe`report ${executionId}`);
  const report = await completed(client, executionId, call);
  if (isDownloaded) return deliver(client, report, { call, target, format: flags.format[0] });
  await out.one(report, viewOf('getExecution'));
  if (out.isHuman) await out.note(safe`download it: gov report download ${shellWord(executionId)}`);
};

/** `pdf:email:ada@example.org`. Errors: exit 2. */
function deliveryOf(text: string): DeliveryInput {
  const [format = '', channel = '', ...rest] = text.split(':');
  const target = rest.join(':');
  const isKnown =
    (reportFormats as readonly string[]).includes(format) &&
    (deliveryChannels as readonly string[]).includes(channel) &&
    target !== '';
  if (isKnown) return { format, channel, target } as DeliveryInput;
  throw usage(
    `--deliver: expected FORMAT:CHANNEL:TARGET, got ${JSON.stringify(text.slice(0, 64))}`,
    'for example pdf:email:ada@example.org',
  );
}
