/**
 * What another version of a policy would have changed: the recorded decisions of a period, decided again.
 */
import { useState } from 'preact/hooks';
import type { PolicyVersion } from '../../contract/policies.ts';
import type { Client } from '../../client/create.ts';
import { useLoad } from '../browser/load.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { counted } from '../parts/counted.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { periods, startOf } from '../parts/filters.tsx';
import { Loading } from '../parts/loading.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';

type History = Awaited<ReturnType<Client['analyzePolicyHistory']>>['body'];

interface ImpactProps {
  readonly policyId: string;
  readonly version: PolicyVersion;
}

function useImpact({ policyId, version: proposed }: ImpactProps, days: string) {
  const { client } = useSession();
  const { condition, action, severity, version } = proposed;
  return useLoad(async (signal) => {
    const proposedVersion = { condition, action, ...(severity === null ? {} : { severity }) };
    const startTime = startOf(days);
    const body = { proposedVersion, ...(startTime === undefined ? {} : { startTime }) };
    return (await client.analyzePolicyHistory({ params: { policyId }, body, signal })).body;
  }, `impact ${policyId} ${version} ${days}`);
}

/** The result in one sentence, for the dialogs that put a version in force. */
export function ImpactLine(props: ImpactProps) {
  const { data, error } = useImpact(props, '30');
  if (error !== null) return <ErrorBox error={error} />;
  return <p>{data === undefined ? 'Comparing with the decisions of the last 30 days…' : sentence(data)}</p>;
}

const sentence = ({
  sampleCount,
  changedCount,
  tightened,
  loosened,
  window,
  notReplayable,
}: History): string => {
  if (sampleCount === 0) return 'No decision was recorded in this period, so the effect is not known.';
  const of = counted(sampleCount, 'recorded decision');
  const whole = window.complete ? '' : ' (the newest of the period)';
  const unread = notReplayable.count === 0 ? '' : ` ${notReplayable.count} could not be decided again.`;
  if (changedCount === 0) return `Of ${of}${whole}, none would change.${unread}`;
  return `Of ${of}${whole}, ${changedCount} would change: ${tightened} tightened, ${loosened} loosened.${unread}`;
};

export function Impact(props: ImpactProps) {
  const [days, setDays] = useState('30');
  const { data, error, reload } = useImpact(props, days);
  return (
    <section class="card">
      <div class="card-head">
        <h2>If version {props.version.version} had been in force</h2>
        <label class="filters inline">
          Period
          <select value={days} onChange={(event) => setDays(event.currentTarget.value)}>
            {periods.map(({ value, text }) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
      </div>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {data === undefined ? error === null && <Loading what="the comparison" /> : <Result history={data} />}
    </section>
  );
}

const Result = ({ history }: { readonly history: History }) => (
  <div class="stack">
    <p>{sentence(history)}</p>
    {history.changedCount > 0 && (
      <>
        <Groups title="By tool" groups={history.byTool} />
        <Groups title="By agent" groups={history.byAgent} />
        <Examples history={history} />
      </>
    )}
  </div>
);

interface GroupsProps {
  readonly title: string;
  readonly groups: History['byTool'];
}

const Groups = ({ title, groups }: GroupsProps) => {
  const changed = groups.filter(({ tightened, loosened }) => tightened + loosened > 0);
  if (changed.length === 0) return null;
  return (
    <Table
      caption={title}
      rows={changed}
      keyOf={({ key }) => key}
      columns={[
        { name: title, cell: ({ key }) => <RemoteLine text={key} />, kind: 'wide' },
        { name: 'Decisions', cell: ({ total }) => total, kind: 'number' },
        { name: 'Tightened', cell: ({ tightened }) => tightened, kind: 'number' },
        { name: 'Loosened', cell: ({ loosened }) => loosened, kind: 'number' },
      ]}
    />
  );
};

const shownExamples = 10;

/** A few decisions of each direction, with links to their runs: the calls to look at before publishing. */
const Examples = ({ history: { examples } }: { readonly history: History }) => (
  <Table
    caption="Examples"
    rows={[...examples.loosened.slice(0, shownExamples), ...examples.tightened.slice(0, shownExamples)]}
    keyOf={({ evaluationId }) => evaluationId}
    columns={[
      {
        name: 'Run',
        cell: ({ runId }) => <a href={linkTo(['runs', runId], { show: 'decisions' })}>{runId}</a>,
      },
      {
        name: 'Was',
        cell: ({ before }) => <Status>{before.decision}</Status>,
      },
      {
        name: 'Would be',
        cell: ({ after }) => <Status>{after.decision}</Status>,
      },
      { name: 'Why', cell: ({ reasoning }) => <RemoteLine text={reasoning} />, kind: 'wide' },
    ]}
  />
);
