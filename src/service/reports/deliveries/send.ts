/** Sends one delivery over its channel. Proven by `test/service/reports/deliveries/due.test.ts`. */
import { Readable } from 'node:stream';
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { signatureNameOf } from '../../../core/reports/artifacts.ts';
import { webhookHeaders, webhookKey } from '../../../core/webhooks/signature.ts';
import type { Services } from '../../port/services.ts';
import type { OutboundAnswer } from '../../hosting/outbound.ts';
import { targetOf, type StoredDelivery } from './document.ts';
import {
  fileNameOf,
  filenameOf,
  mailOf,
  mediaTypes,
  signatureOf,
  webhookBody,
  type DeliveryContent,
} from './message.ts';

export interface DeliveryToSend extends DeliveryContent {
  readonly projectId: string;
  readonly delivery: StoredDelivery;
}

/** With the whole address. */
interface AddressedDelivery extends DeliveryToSend {
  readonly target: string;
}

/** A failure that no repetition repairs. */
export const refused = (failed: string): OutboundAnswer => ({
  ok: false,
  statusCode: null,
  retryAfterMs: null,
  durationMs: 0,
  failed,
  isFinal: true,
});

/** Never rejects for what a receiver does, nor for a lost artifact. */
export async function send(services: Services, sending: DeliveryToSend): Promise<OutboundAnswer> {
  try {
    const target = targetOf(sending.delivery, services.seal);
    if (target === null)
      return refused('the address of the delivery cannot be read: the installation has another store key');
    const addressed = { ...sending, target };
    switch (sending.delivery.channel) {
      case 'email':
        return await byMail(services, addressed);
      case 'webhook':
        return await byWebhook(services, addressed);
      case 'file':
        return await byFile(services, addressed);
    }
  } catch (error) {
    if (!(error instanceof GovError) || error.code !== 'EXPORT_FAILED') throw error;
    services.log.error(
      { err: error, deliveryId: sending.deliveryId },
      'the artifact of a delivery cannot be read',
    );
    return refused('the artifact of the report is lost; create the report again');
  }
}

async function byMail(services: Services, sending: AddressedDelivery): Promise<OutboundAnswer> {
  const { outbound } = services;
  if (outbound.mail === undefined) return unconfigured('a mail server');
  const { sizeBytes } = sending.made;
  const most = limits.deliveryMailBytes;
  if (sizeBytes > most)
    return refused(`expected at most ${most} bytes for a mail, got ${sizeBytes}; share the report instead`);
  const signature = signatureOf(sending);
  return outbound.mail({
    to: sending.target,
    ...mailOf(sending),
    messageId: sending.deliveryId,
    attachments: [
      {
        filename: filenameOf(sending),
        mediaType: mediaTypes[sending.format],
        bytes: await wholeOf(services, sending),
      },
      ...(signature === null
        ? []
        : [
            {
              filename: signatureNameOf(filenameOf(sending)),
              mediaType: mediaTypes.json,
              bytes: Buffer.from(signature),
            },
          ]),
    ],
  });
}

async function byWebhook(services: Services, sending: AddressedDelivery): Promise<OutboundAnswer> {
  const { outbound, now, seal } = services;
  const { delivery, deliveryId, made, target } = sending;
  const secret = seal.open(delivery.sealedSecret ?? '');
  const key = secret === null ? null : webhookKey(secret);
  if (key === null)
    return refused('the secret of the delivery cannot be read: the installation has another store key');
  const isSmall = made.sizeBytes <= limits.deliveryContentBytes;
  const body = webhookBody(sending, isSmall ? (await wholeOf(services, sending)).toString('base64') : null);
  return outbound.post({
    url: target,
    headers: {
      'content-type': 'application/json',
      ...webhookHeaders({ id: deliveryId, body, nowMs: now() }, [key]),
    },
    body,
    timeoutMs: limits.deliverySeconds * 1000,
  });
}

async function byFile(services: Services, sending: AddressedDelivery): Promise<OutboundAnswer> {
  const { outbound } = services;
  if (outbound.file === undefined) return unconfigured('a folder for deliveries');
  const name = fileNameOf(sending.target, sending);
  const signature = signatureOf(sending);
  if (signature !== null) {
    // before the report, so that nobody finds a report without its signature
    const answer = await outbound.file(signatureNameOf(name), Readable.from([Buffer.from(signature)]));
    if (!answer.ok) return answer;
  }
  return outbound.file(name, bytesOf(services, sending));
}

/** The operator can configure it, so a later attempt may succeed. */
const unconfigured = (what: string): OutboundAnswer => ({
  ...refused(`expected ${what} in the configuration of this installation, got none`),
  isFinal: false,
});

const bytesOf = ({ exports }: Services, { projectId, made }: DeliveryToSend): AsyncIterable<Uint8Array> =>
  exports.artifacts.read({ projectId, exportId: made.artifactId }, made, { from: 0, to: made.sizeBytes });

async function wholeOf(services: Services, sending: DeliveryToSend): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytesOf(services, sending)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
