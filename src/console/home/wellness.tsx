/** Is it well: health, the signed log, witnesses, disk, sources and the last report, each with its own judgement. */
import { useLoad } from '../browser/load.ts';
import { useSession } from '../browser/session.tsx';
import type { Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import type { Integrity } from '../../contract/operations.ts';
import { aboutDuration } from '../../core/duration.ts';
import { counted } from '../parts/counted.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { Section } from '../parts/section.tsx';
import { Status, type Tone } from '../parts/status.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { relativeTime } from '../parts/time.tsx';

const everyMs = 15_000;

interface Fact {
  readonly name: string;
  readonly tone: Tone;
  readonly value: string;
  readonly more?: string;
}

export function Wellness() {
  const { client, can } = useSession();
  const { data, error, reload } = useLoad((signal) => readWellness(client, { can, signal }), 'wellness', {
    everyMs,
  });
  const reasons = data?.reasons ?? [];
  return (
    <Section
      title="Is it well?"
      id="well"
      aside={data !== undefined && <Overall isWell={reasons.length === 0} />}
    >
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <dl class="tiles">
        {data?.facts.map(({ name, tone, value, more }) => (
          <div key={name} class={`tile ${tone}`}>
            <dt>{name}</dt>
            <dd>
              {value}
              {more !== undefined && <p class="quiet">{more}</p>}
            </dd>
          </div>
        ))}
      </dl>
      {reasons.length > 0 && (
        <ul class="reasons">
          {reasons.map((reason) => (
            <li key={reason}>
              <RemoteLine text={reason} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

const Overall = ({ isWell }: { readonly isWell: boolean }) =>
  isWell ? <Status tone="good">All is well</Status> : <Status tone="wait">Needs attention</Status>;

interface WellnessRequest {
  readonly can: (scope: string) => boolean;
  readonly signal: AbortSignal;
}

/** Reads what the scopes of the session allow. */
async function readWellness(
  client: Client,
  { can, signal }: WellnessRequest,
): Promise<{ readonly facts: readonly Fact[]; readonly reasons: readonly string[] }> {
  const [health, integrity, sources, report] = await Promise.all([
    client.getHealth({ signal }),
    can('log:read') ? client.getIntegrity({ signal }) : null,
    can('events:read') ? client.listSources({ signal }) : null,
    can('reporting:read') ? lastReport(client, signal) : null,
  ]);
  const { status, time, reasons = [] } = health.body;
  const facts: Fact[] = [
    { name: 'Server', tone: status === 'ok' ? 'good' : 'bad', value: status },
    ...(integrity === null ? [] : logFacts(integrity.body)),
    ...(sources === null ? [] : [sourceFact(sources.body.data)]),
    ...(report === null ? [] : [report(Date.parse(time))]),
  ];
  return { facts, reasons: [...new Set([...reasons, ...(integrity?.body.reasons ?? [])])] };
}

function logFacts({ checkpoints, disk }: Integrity): Fact[] {
  const audit = checkpoints.find(({ tree }) => tree === 'audit');
  const signed = audit?.signed ?? null;
  const behind = (audit?.leaves ?? 0) - (signed?.size ?? 0);
  const age = signed?.ageSeconds ?? null;
  const facts: Fact[] = [
    {
      name: 'Log',
      tone: behind > 0 ? 'wait' : 'good',
      value: audit?.leaves === 1 ? '1 leaf' : `${(audit?.leaves ?? 0).toLocaleString('en')} leaves`,
      more:
        signed === null
          ? 'no checkpoint yet'
          : behind > 0
            ? `${behind.toLocaleString('en')} not signed yet`
            : age === null
              ? 'all signed'
              : `all signed, ${aboutDuration(age * 1000)} ago`,
    },
  ];
  const { witnessed = null } = audit ?? {};
  facts.push({
    name: 'Witnesses',
    tone: witnessed === null ? 'plain' : 'good',
    value: witnessed === null ? 'none' : `${witnessed.witnesses}`,
    ...(witnessed === null ? {} : { more: `cosigned up to leaf ${witnessed.size.toLocaleString('en')}` }),
  });
  if (disk !== null) {
    const { daysLeft, freeBytes } = disk;
    facts.push({
      name: 'Disk',
      tone: daysLeft !== null && daysLeft < 30 ? 'bad' : 'good',
      value: `${(freeBytes / 2 ** 30).toLocaleString('en', { maximumFractionDigits: 1 })} GiB free`,
      ...(daysLeft === null ? {} : { more: `${counted(daysLeft, 'day')} left` }),
    });
  }
  return facts;
}

function sourceFact(sources: readonly { readonly silent: boolean }[]): Fact {
  const silent = sources.filter((source) => source.silent).length;
  return {
    name: 'Sources',
    tone: sources.length === 0 ? 'plain' : silent > 0 ? 'wait' : 'good',
    value: sources.length === 0 ? 'none' : `${sources.length}`,
    ...(silent > 0 ? { more: `${silent} silent` } : {}),
  };
}

/** The newest report; null where the plan has none. */
async function lastReport(client: Client, signal: AbortSignal): Promise<((nowMs: number) => Fact) | null> {
  try {
    const { body } = await client.listExecutions({ query: { limit: 1 }, signal });
    const [report] = body.data;
    if (report === undefined) return () => ({ name: 'Last report', tone: 'plain', value: 'none' });
    const { status, createdAt } = report;
    const tone = status === 'failed' ? 'bad' : status === 'completed' ? 'good' : 'wait';
    return (nowMs) => ({
      name: 'Last report',
      tone,
      value: status,
      more: relativeTime(Date.parse(createdAt), nowMs),
    });
  } catch (error) {
    if (error instanceof GovApiError && error.status === 402) return null;
    throw error;
  }
}
