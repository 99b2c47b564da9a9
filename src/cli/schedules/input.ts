/** Turns the flags of a schedule into its members. Tested by `test/cli/commands/report/schedules.test.ts`. */
import type { DeliveryInput, ReportFormat } from '../../contract/report-parts.ts';
import type { Invocation } from '../context/command.ts';
import { usage } from '../program/exit.ts';
import { secretIn } from './secret.ts';

interface Flags {
  readonly timezone: string | undefined;
  readonly format: readonly ReportFormat[];
  readonly title: string | undefined;
  readonly locale: string | undefined;
  readonly run: string | undefined;
}

/** Members that were given. */
export function membersOf({ timezone, format, title, locale, run }: Flags) {
  return {
    ...(timezone === undefined ? {} : { timezone }),
    ...(format.length === 0 ? {} : { formats: [...format] }),
    ...(title === undefined ? {} : { title }),
    ...(locale === undefined ? {} : { locale }),
    ...(run === undefined ? {} : { runId: run }),
  };
}

interface Targets {
  readonly email: readonly string[];
  readonly webhook: readonly string[];
  readonly secretFile: string | undefined;
  readonly file: readonly string[];
}

/** A delivery for each target and format; null where no target was given. */
export async function deliveriesOf(
  { email, webhook, secretFile, file }: Targets,
  formats: readonly ReportFormat[],
  { io, signal }: Pick<Invocation, 'io' | 'signal'>,
): Promise<DeliveryInput[] | null> {
  if (webhook.length > 0 && secretFile === undefined)
    throw usage(
      'expected --secret-file with --webhook',
      'make a secret: echo "whsec_$(openssl rand -base64 32)" > hook.secret',
    );
  if (webhook.length === 0 && secretFile !== undefined) throw usage('expected --webhook with --secret-file');
  const targets = [
    ...email.map((target) => ({ channel: 'email' as const, target })),
    ...webhook.map((target) => ({ channel: 'webhook' as const, target })),
    ...file.map((target) => ({ channel: 'file' as const, target })),
  ];
  if (targets.length === 0) return null;
  const secret = secretFile === undefined ? '' : await secretIn(secretFile, { io, signal });
  return targets.flatMap((each) =>
    formats.map((format) => ({ ...each, format, ...(each.channel === 'webhook' ? { secret } : {}) })),
  );
}
