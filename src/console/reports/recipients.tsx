/** Where the reports of a new schedule go: mailboxes, webhooks, and on a plane also files. */
import { useEffect, useId, useRef } from 'preact/hooks';
import { limits } from '../../contract/limits.ts';
import type { DeliveryInput, ReportFormat } from '../../contract/report-parts.ts';
import { useSession } from '../browser/session.tsx';
import { Button } from '../parts/button.tsx';
import { SelectField, TextField } from '../parts/field.tsx';

export interface Recipient {
  /** Of the page alone. */
  readonly key: number;
  readonly channel: DeliveryInput['channel'];
  readonly target: string;
  /** Of a webhook. */
  readonly secret: string;
}

/** A delivery for each recipient and format, in this order. */
export const deliveriesOf = (
  recipients: readonly Recipient[],
  formats: readonly ReportFormat[],
): DeliveryInput[] =>
  recipients.flatMap(({ channel, target, secret }) =>
    formats.map((format) => ({
      channel,
      target: target.trim(),
      format,
      ...(channel === 'webhook' ? { secret: secret.trim() } : {}),
    })),
  );

interface RecipientsProps {
  readonly recipients: readonly Recipient[];
  readonly set: (recipients: readonly Recipient[]) => void;
  /** How many deliveries each recipient makes. */
  readonly formats: number;
}

export function Recipients({ recipients, set, formats }: RecipientsProps) {
  const add = useRef<HTMLButtonElement>(null);
  const next = (recipients.at(-1)?.key ?? 0) + 1;
  const isFull = (recipients.length + 1) * formats > limits.reportDeliveries;
  return (
    <fieldset class="group">
      <legend>Send each report to (optional)</legend>
      {recipients.map((recipient, at) => (
        <RecipientFields
          key={recipient.key}
          recipient={recipient}
          number={at + 1}
          // the API names the first delivery of a recipient that it refuses
          pointer={`deliveries/${at * formats}`}
          change={(members) =>
            set(recipients.map((each) => (each === recipient ? { ...each, ...members } : each)))
          }
          remove={() => {
            set(recipients.filter((each) => each !== recipient));
            add.current?.focus();
          }}
        />
      ))}
      <div>
        <button
          ref={add}
          type="button"
          class="button"
          disabled={isFull}
          onClick={() => set([...recipients, { key: next, channel: 'email', target: '', secret: '' }])}
        >
          Add a recipient
        </button>
      </div>
    </fieldset>
  );
}

const targets = {
  email: { label: 'E-mail address', placeholder: 'audit@example.com', type: 'email' },
  webhook: { label: 'Address', placeholder: 'https://example.com/hooks', type: 'url' },
  file: { label: 'File name', placeholder: 'tools/{date}.{format}' },
} as const;

interface RecipientFieldsProps {
  readonly recipient: Recipient;
  readonly number: number;
  readonly pointer: string;
  readonly change: (members: Partial<Recipient>) => void;
  readonly remove: () => void;
}

function RecipientFields({
  recipient: { channel, target, secret },
  number,
  pointer,
  change,
  remove,
}: RecipientFieldsProps) {
  const isHosted = useSession().identity.type === 'person';
  const room = useRef<HTMLDivElement>(null);
  const hintId = useId();
  useEffect(() => room.current?.querySelector('select')?.focus(), []);
  const make = (): void => {
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    change({ secret: `whsec_${btoa(String.fromCharCode(...bytes))}` });
  };
  return (
    <div class="recipient" role="group" aria-label={`Recipient ${number}`} ref={room}>
      <SelectField
        label="By"
        name={`${pointer}/channel`}
        value={channel}
        set={(chosen) => change({ channel: chosen })}
        options={[
          ['email', 'E-mail'],
          ['webhook', 'Webhook'],
          ...(isHosted ? [] : ([['file', 'File of the plane']] as const)),
        ]}
      />
      <TextField
        // another kind of recipient, another field
        key={channel}
        {...targets[channel]}
        name={`${pointer}/target`}
        maxLength={limits.reportTargetChars}
        value={target}
        set={(text) => change({ target: text })}
      />
      {channel === 'webhook' && (
        <>
          <TextField
            label="Secret"
            name={`${pointer}/secret`}
            placeholder="whsec_…"
            maxLength={limits.deliverySecretChars}
            value={secret}
            set={(text) => change({ secret: text })}
          />
          <Button onClick={make} aria-describedby={hintId}>
            Make a secret
          </Button>
          <p id={hintId} class="quiet small">
            It signs each message. Give it to the receiver now: no answer shows it again.
          </p>
        </>
      )}
      <Button kind="quiet" onClick={remove} aria-label={`Remove recipient ${number}`}>
        Remove
      </Button>
    </div>
  );
}
