/**
 * The start page: is it well, what needs me, what was denied, and decisions a day. A key sees what its scopes allow.
 * Tested by `test/console/accessible.long.test.ts`.
 */
import { useLoad } from '../browser/load.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { ApprovalTable } from '../approvals/list.tsx';
import { everyMs, waitingApprovals } from '../approvals/load.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Section } from '../parts/section.tsx';
import { Table } from '../parts/table.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Time } from '../parts/time.tsx';
import { DecisionChart } from './chart.tsx';
import { Wellness } from './wellness.tsx';
import { decisionsByDay, deniedEvents, nameOf, toolOf } from './decisions.ts';

const slowMs = 30_000;
const mostWaiting = 5;

export function Home() {
  const { can } = useSession();
  return (
    <>
      <PageHead title="Home" />
      <div class="stack home">
        <Wellness />
        {can('governance:read') && <Waiting />}
        {can('governance:read') && <Decisions />}
        {can('events:read') && <Denied />}
      </div>
    </>
  );
}

function Waiting() {
  const { client } = useSession();
  const { data, error, reload } = useLoad((signal) => waitingApprovals(client, signal), 'waiting', {
    everyMs,
  });
  const more = data === undefined ? 0 : data.length - mostWaiting;
  return (
    <Section
      title="Needs you"
      id="waiting"
      aside={more > 0 ? <a href="#/approvals">All {data?.length}</a> : <a href="#/approvals">Approvals</a>}
    >
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {data?.length === 0 && <p class="quiet">Nothing waits for a decision.</p>}
      {data !== undefined && (
        <ApprovalTable rows={data.slice(0, mostWaiting)} caption="Waiting, oldest first" />
      )}
    </Section>
  );
}

function Decisions() {
  const { client } = useSession();
  const { data, error, reload } = useLoad(
    (signal) => decisionsByDay(client, { nowMs: Date.now(), signal }),
    'decisions',
    { everyMs: slowMs },
  );
  return (
    <Section
      title="Decisions a day, UTC"
      id="decisions"
      aside={
        data !== undefined && data.isPartial ? (
          <span class="quiet">the newest {data.total.toLocaleString('en')}</span>
        ) : null
      }
    >
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <div class="chart-frame">{data !== undefined && <DecisionChart days={data.days} />}</div>
    </Section>
  );
}

function Denied() {
  const { client } = useSession();
  const { data, error, reload } = useLoad((signal) => deniedEvents(client, signal), 'denied', {
    everyMs: slowMs,
  });
  return (
    <Section title="Denied lately" id="denied">
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {data?.length === 0 && <p class="quiet">No call was denied.</p>}
      {data !== undefined && data.length > 0 && (
        <Table
          caption="Denied lately, newest first"
          rows={data}
          keyOf={({ eventId }) => eventId}
          columns={[
            {
              name: 'Call',
              cell: (event) => (
                <span class="strong">
                  <RemoteLine text={toolOf(event)} />
                </span>
              ),
            },
            { name: 'Who', cell: ({ actor }) => <RemoteLine text={nameOf(actor) ?? 'unknown'} /> },
            {
              name: 'Run',
              cell: ({ runId }) => (
                <a class="mono" href={linkTo(['runs', runId])}>
                  {runId}
                </a>
              ),
            },
            { name: 'When', cell: ({ serverTimestamp }) => <Time at={serverTimestamp} /> },
          ]}
        />
      )}
    </Section>
  );
}
