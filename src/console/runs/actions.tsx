/** Makes an export or a report of a run, waits for it with its progress, and saves the file. */
import type { AuditEvent } from '../../contract/events.ts';
import type { Session } from '../browser/session.tsx';
import { useSession } from '../browser/session.tsx';
import { useState } from 'preact/hooks';
import { useAction, waitFor } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { counted } from '../parts/counted.ts';
import { download } from '../parts/download.ts';
import { ErrorBox } from '../parts/error-box.tsx';

interface RunProps {
  readonly runId: string;
  /** In the order of recording; a report is about their period. */
  readonly events: readonly AuditEvent[];
}

export function RunActions({ runId, events }: RunProps) {
  const session = useSession();
  const [progress, setProgress] = useState('');
  const exporting = useAction();
  const reporting = useAction();
  const start = (action: typeof exporting, make: Make): void =>
    action.run(async (signal) => {
      await make({ session, runId, signal, progress: setProgress });
      setProgress('');
    });
  const error = exporting.error ?? reporting.error;
  return (
    <>
      {session.can('exports:write') && (
        <Button isBusy={exporting.isBusy} onClick={() => start(exporting, makeExport)}>
          Export
        </Button>
      )}
      {session.can('reporting:write') && events.length > 0 && (
        <Button isBusy={reporting.isBusy} onClick={() => start(reporting, makeReport(events))}>
          Report
        </Button>
      )}
      <span role="status" class="progress quiet">
        {exporting.isBusy || reporting.isBusy ? progress : ''}
      </span>
      {error !== null && <ErrorBox error={error} />}
    </>
  );
}

interface RunAction {
  readonly session: Session;
  readonly runId: string;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

type Make = (making: RunAction) => Promise<void>;

/** All events of the run, each with the proof of its place in the log. */
const makeExport: Make = async ({ session, runId, signal, progress }) => {
  const { client } = session;
  progress('Requested…');
  const body = { resource: 'audit_events', format: 'json', includeProof: true, filters: { runId } } as const;
  const { exportId } = (await client.createExport({ body, signal })).body;
  const made = await waitFor(async () => (await client.getExport({ params: { exportId }, signal })).body, {
    isOver: ({ status }) => status !== 'pending' && status !== 'processing',
    seen: ({ status, rowCount }) =>
      progress(`${status}${rowCount === null ? '' : `, ${counted(rowCount, 'row')}`}…`),
    signal,
  });
  if (made.status !== 'completed') throw new Error(made.errorSummary ?? `the export is ${made.status}`);
  progress('Downloading…');
  await download(session, {
    path: `/exports/${exportId}/download`,
    name: `${runId}-${exportId}.json`,
    signal,
  });
};

/** The evidence of the run as a PDF. */
const makeReport =
  (events: readonly AuditEvent[]): Make =>
  async ({ session, runId, signal, progress }) => {
    const { client } = session;
    const times = events.map(({ timestamp }) => Date.parse(timestamp)).filter((ms) => !Number.isNaN(ms));
    const recorded = events.map(({ serverTimestamp }) => Date.parse(serverTimestamp));
    const parameters = {
      startTime: new Date(Math.min(...times.slice(0, 1), ...recorded.slice(0, 1))).toISOString(),
      endTime: new Date(Math.max(Date.now(), ...recorded.slice(-1))).toISOString(),
      runId,
    };
    progress('Requested…');
    const asked = { reportTemplateId: 'run-evidence', formats: ['pdf'], parameters } as const;
    const { executionId } = (await client.createExecution({ body: { ...asked, formats: ['pdf'] }, signal }))
      .body;
    const made = await waitFor(
      async () => (await client.getExecution({ params: { executionId }, signal })).body,
      {
        isOver: ({ status }) => status !== 'queued' && status !== 'processing',
        seen: ({ status }) => progress(`${status}…`),
        signal,
      },
    );
    if (made.status !== 'completed') throw new Error(made.errorSummary ?? `the report is ${made.status}`);
    progress('Downloading…');
    const path = `/reporting/executions/${executionId}/download?format=pdf`;
    await download(session, { path, name: `${runId}-${executionId}.pdf`, signal });
  };
