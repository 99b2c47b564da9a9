/** One report: what it found, its rows with links to events and runs, its files, and links for others. */
import { useState } from 'preact/hooks';
import type {
  ReportData,
  ReportExecution,
  ReportSignature,
  ReportSummary,
} from '../../contract/report-parts.ts';
import { isOpen } from '../../contract/job-words.ts';
import { canonicalText } from '../../core/json/canonical.ts';
import { useLoad } from '../browser/load.ts';
import type { PageProps } from '../browser/page.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { download, save } from '../parts/download.ts';
import { ErrorBox } from '../parts/error-box.tsx';
import { NotLoaded } from '../parts/not-loaded.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { sizeText } from '../parts/size.ts';
import { Status, toneOf } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { deliveryColumns } from './deliveries.tsx';
import { isOver, periodText } from './words.ts';
import { Shares } from './shares.tsx';

const up = { name: 'Reports', path: ['reports'] } as const;

/** Milliseconds between looks at a report that is being made, and at one whose deliveries are not all sent. */
const [makingMs, sendingMs] = [1500, 10_000];

function lookAgainMs({ status, deliveries }: ReportExecution): number | undefined {
  if (!isOver(status)) return makingMs;
  return deliveries.some((each) => isOpen(each.status)) ? sendingMs : undefined;
}

export function ReportPage({ params: { executionId = '' } }: PageProps) {
  const { client } = useSession();
  const [everyMs, setEvery] = useState<number | undefined>(makingMs);
  const { data, error, reload } = useLoad(
    async (signal) => {
      const query = { includeData: true };
      const { body } = await client.getExecution({ params: { executionId }, query, signal });
      setEvery(lookAgainMs(body));
      return body;
    },
    `report ${executionId}`,
    { everyMs },
  );
  if (data === undefined)
    return <NotLoaded title="Report" up={up} what="the report" error={error} retry={reload} />;
  const { title, status, parameters, createdAt, errorSummary, summary, artifacts } = data;
  return (
    <>
      <PageHead title={<RemoteLine text={title} />} up={up}>
        <Status>{status}</Status> {periodText(parameters)} · requested <Time at={createdAt} />
        {parameters.runId !== undefined && (
          <>
            {' · run '}
            <a href={linkTo(['runs', parameters.runId])}>{parameters.runId}</a>
          </>
        )}
      </PageHead>
      <div class="stack">
        {!isOver(status) && <p role="status">The report is being made…</p>}
        {errorSummary !== null && <ErrorBox error={new Error(errorSummary)} />}
        {artifacts.length > 0 && <Files report={data} />}
        {summary !== null && <Found summary={summary} />}
        {data.data !== undefined && data.data !== null && <Rows data={data.data} />}
        {data.deliveries.length > 0 && (
          <section class="card">
            <h2 class="card-head">Deliveries</h2>
            <Table
              caption="Deliveries"
              rows={data.deliveries}
              keyOf={({ deliveryId }) => deliveryId}
              columns={deliveryColumns(reload)}
            />
          </section>
        )}
        {status === 'completed' && <Shares executionId={executionId} formats={data.formats} />}
      </div>
    </>
  );
}

interface FilesProps {
  readonly report: ReportExecution & { readonly signature: ReportSignature | null };
}

function Files({ report: { executionId, artifacts, signature } }: FilesProps) {
  const session = useSession();
  const { isBusy, error, run } = useAction();
  const saveArtifact = (format: string): void =>
    run((signal) =>
      download(session, {
        path: `/reporting/executions/${executionId}/download?format=${format}`,
        name: `${executionId}.${format}`,
        signal,
      }),
    );
  return (
    <section class="card">
      <h2 class="card-head">Files</h2>
      <div class="actions">
        {artifacts.map(({ format, status, sizeBytes }) =>
          status === 'completed' ? (
            <Button key={format} onClick={() => saveArtifact(format)} isBusy={isBusy}>
              {format.toUpperCase()}, {sizeText(sizeBytes)}
            </Button>
          ) : (
            <Status key={format} tone={toneOf(status)}>{`${format} ${status}`}</Status>
          ),
        )}
        {signature !== null && artifacts.some(({ format }) => format === 'json') && (
          <Button onClick={() => save(signatureFile(signature), `${executionId}.dsse.json`)}>
            Signature of the JSON
          </Button>
        )}
        <a class="button" href="verify.html" target="_blank" rel="noopener">
          Open the verify page
        </a>
      </div>
      {error !== null && <ErrorBox error={error} />}
    </section>
  );
}

/** The bytes that the log signed, as a verifier reads them: canonical JSON. */
const signatureFile = (signature: ReportSignature): Blob =>
  new Blob([canonicalText(signature)], { type: 'application/json' });

const checkTones = { pass: 'good', fail: 'bad', not_shown: 'plain' } as const;
const checkWords = { pass: 'holds', fail: 'fails', not_shown: 'not shown' } as const;

const Found = ({ summary: { checks, figures } }: { readonly summary: ReportSummary }) => (
  <section class="card">
    <h2 class="card-head">What it found</h2>
    <dl class="figures">
      {figures.map(({ name, label, value }) => (
        <div key={name}>
          <dt>{label}</dt>
          <dd>
            <RemoteLine text={String(value ?? '–')} />
          </dd>
        </div>
      ))}
    </dl>
    <ul class="layers">
      {checks.map(({ name, status, detail }) => (
        <li key={name}>
          <Status tone={checkTones[status]}>{checkWords[status]}</Status>
          <div>
            <p>
              <RemoteLine text={name} />
            </p>
            <p class="quiet small">
              <RemoteLine text={detail} />
            </p>
          </div>
        </li>
      ))}
    </ul>
  </section>
);

/** The first rows of the report. Ids of events and runs lead to their pages. */
const Rows = ({ data: { columns, rows, truncated } }: { readonly data: ReportData }) => (
  <section>
    <h2>Rows</h2>
    <Table
      caption="Rows of the report"
      isRoomy
      rows={rows.map((cells, at) => ({ cells, at }))}
      keyOf={({ at }) => String(at)}
      columns={columns.map(({ name, title, kind }, at) => ({
        name: title,
        ...(kind === 'number' ? { kind: 'number' as const } : {}),
        cell: ({ cells }: { readonly cells: (typeof rows)[number] }) => (
          <Cell name={name} value={cells[at] ?? null} />
        ),
      }))}
    />
    {truncated && (
      <p class="cut">The report has more than these {rows.length} rows: its files have all of them.</p>
    )}
  </section>
);

function Cell({ name, value }: { readonly name: string; readonly value: string | number | boolean | null }) {
  if (value === null) return <span class="quiet">–</span>;
  const text = String(value);
  if (/^evt_[0-9a-z]{26}$/.test(text)) return <a href={linkTo(['events', text])}>{text}</a>;
  if (name === 'runId') return <a href={linkTo(['runs', text])}>{text}</a>;
  if (name === 'policyId') return <a href={linkTo(['policies', text])}>{text}</a>;
  return <RemoteLine text={text} />;
}
