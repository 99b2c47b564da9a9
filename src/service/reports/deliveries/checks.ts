/**
 * Refuses deliveries that could never succeed, when they are requested: a channel that is not configured, a target of
 * another form. Whether an address is allowed is decided when it is used. Proven by
 * `test/service/reports/deliveries/checks.test.ts`.
 */
import type { FieldCode } from '../../../contract/field-codes.ts';
import type { DeliveryInput, ReportFormat } from '../../../contract/report-parts.ts';
import { webhookKey } from '../../../core/webhooks/signature.ts';
import { fieldError } from '../../call/schema.ts';
import type { Services } from '../../port/services.ts';
import { isDifferentEachTime, isFileTarget } from './file-name.ts';
import { isMasked } from '../../outbox/masked.ts';

/** VALIDATION_ERROR. `formats`: those of the report. `schedule`: the deliveries are repeated. */
export function checkDeliveries(
  services: Pick<Services, 'outbound'>,
  deliveries: readonly DeliveryInput[],
  formats: readonly ReportFormat[],
  kind: 'once' | 'schedule' = 'once',
): void {
  for (const [at, delivery] of deliveries.entries()) {
    const { channel, target, format, secret } = delivery;
    const refuse = (member: string, code: FieldCode, detail: string): never => {
      throw fieldError({ pointer: `/deliveries/${at}/${member}`, in: 'body', code, detail });
    };
    if (!formats.includes(format)) {
      refuse(
        'format',
        'NOT_ALLOWED',
        `expected a format of the report (${formats.join(', ')}), got ${format}`,
      );
    }
    const missing = missingOf(services, channel);
    if (missing !== null)
      refuse(
        'channel',
        'NOT_ALLOWED',
        `expected a channel that is configured here; the operator sets ${missing}`,
      );
    const expected = faultOf(channel, target);
    if (expected !== null) refuse('target', 'BAD_FORMAT', `expected ${expected}`);
    if (channel === 'file' && kind === 'schedule' && !isDifferentEachTime(target)) {
      refuse(
        'target',
        'BAD_FORMAT',
        'expected a name with {executionId} or {date}, since no file is replaced',
      );
    }
    const fault = secretFaultOf(channel, secret);
    if (fault !== null)
      refuse('secret', secret === undefined ? 'MISSING_FIELD' : 'NOT_ALLOWED', `expected ${fault}`);
  }
}

/** The member of the configuration that the channel needs; null where it has it. */
function missingOf(
  { outbound }: Pick<Services, 'outbound'>,
  channel: DeliveryInput['channel'],
): string | null {
  switch (channel) {
    case 'webhook':
      return null;
    case 'email':
      return outbound.mail === undefined ? 'smtp' : null;
    case 'file':
      return outbound.file === undefined ? 'deliveryDir of a plane' : null;
  }
}

function secretFaultOf(channel: DeliveryInput['channel'], secret: string | undefined): string | null {
  if (channel !== 'webhook')
    return secret === undefined ? null : `a secret for webhooks only, got one for ${channel}`;
  if (secret === undefined)
    return 'a secret that signs the webhook: whsec_ and 24 to 64 random bytes in base64';
  return webhookKey(secret) === null ? 'whsec_ and 24 to 64 bytes in base64' : null;
}

/** One mailbox (RFC 5321): no display name, no list, no quoted local part. */
const mailbox = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const mailboxChars = 254;

/** The form that was expected; null for a target of that form. */
function faultOf(channel: DeliveryInput['channel'], target: string): string | null {
  switch (channel) {
    case 'webhook': {
      const url = URL.canParse(target) ? new URL(target) : null;
      const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === '';
      if (!isPlain) return 'an https URL without user name and password';
      return isMasked(target) ? 'the whole URL, not the masked one of an answer' : null;
    }
    case 'email':
      return mailbox.test(target) && target.length <= mailboxChars
        ? null
        : 'one e-mail address, such as ada@example.org';
    case 'file':
      return isFileTarget(target)
        ? null
        : 'a relative file name of letters, digits, dots, hyphens and underscores, without ..';
  }
}
