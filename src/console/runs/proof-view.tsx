/**
 * The proofs of a run, as two questions: is the record authentic, and did the run obey the policies? The service answers
 * here; the verify page answers without it. Tested by `test/console/runs/page.long.test.ts`.
 */
import { useState } from 'preact/hooks';
import { limits } from '../../contract/limits.ts';
import type { ComplianceProof, LayerName, VerifyResult } from '../../contract/proofs.ts';
import { verdictCodes } from '../../core/proofs/verdict.ts';
import { useLoad } from '../browser/load.ts';
import { linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { jobEnd, useAction } from '../parts/action.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmDialog } from '../parts/confirm.tsx';
import { useDialogs, type DialogEnds } from '../parts/dialogs.tsx';
import { download } from '../parts/download.ts';
import { Empty } from '../parts/empty.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Choices } from '../parts/field.tsx';
import { Loading } from '../parts/loading.tsx';
import { Status, type Tone } from '../parts/status.tsx';
import { Time } from '../parts/time.tsx';

/** What each layer says, as an answer to one of the two questions. */
const layers: Readonly<
  Record<LayerName, { readonly question: 'authentic' | 'compliant'; readonly says: string }>
> = {
  event_integrity: {
    question: 'authentic',
    says: 'The events of the run are as they were recorded, numbered without a gap, each once and in order.',
  },
  causal_consistency: {
    question: 'authentic',
    says: 'Causes come before their effects, and every event of the causal graph is in the log.',
  },
  log_inclusion: {
    question: 'authentic',
    says: 'The log has signed a checkpoint with this run, and it extends the checkpoint before.',
  },
  decision_lineage: {
    question: 'authentic',
    says: 'Computing the risk decisions again from their recorded inputs gives the recorded results.',
  },
  replay_determinism: {
    question: 'authentic',
    says: 'The newest replay of the decisions of this run found no difference.',
  },
  policy_compliance: {
    question: 'compliant',
    says: 'The policies in force decided every tool call, and nothing ran against a decision.',
  },
  'x-coverage': {
    question: 'compliant',
    says: 'The sources of the run agree that no tool call ran ungoverned.',
  },
  'x-recordings': {
    question: 'authentic',
    says: 'Every recording of the run was read whole: each fact that its file shows is an event.',
  },
};

const layerNames = Object.keys(layers) as LayerName[];

/** A run without risk decisions, or without a replay, would not pass the others. */
const standardLayers: readonly LayerName[] = [
  'event_integrity',
  'causal_consistency',
  'policy_compliance',
  'log_inclusion',
  'x-coverage',
];

interface ProofProps {
  readonly runId: string;
  /** The one that the address names; null for the newest. */
  readonly proofId: string | null;
}

export function ProofView({ runId, proofId }: ProofProps) {
  const { client, can } = useSession();
  const { data, error, reload } = useLoad(
    async (signal) =>
      (await client.listProofs({ query: { runId, limit: limits.pageMax }, signal })).body.data,
    `proofs ${runId}`,
  );
  const { ask, dialogs } = useDialogs(reload);
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  if (data === undefined) return <Loading what="the proofs" />;
  const shown = data.find((proof) => proof.proofId === proofId) ?? data[0];
  const prove = can('proofs:write') && (
    <Button kind="main" onClick={() => ask((ends) => <ProveDialog runId={runId} {...ends} />)}>
      Prove this run
    </Button>
  );
  return (
    <div class="stack pad">
      {shown === undefined ? (
        <Empty title="This run is not proved yet" action={prove}>
          A proof shows to others that this is what was recorded, and whether it obeyed the policies.
        </Empty>
      ) : (
        <>
          <div class="proof-head">
            <Others proofs={data} shown={shown} />
            {prove}
          </div>
          <Proof key={shown.proofId} proof={shown} />
        </>
      )}
      {dialogs}
    </div>
  );
}

/** The other proofs of the run, each with its address. */
const Others = ({
  proofs,
  shown,
}: {
  readonly proofs: readonly ComplianceProof[];
  readonly shown: ComplianceProof;
}) => (
  <p>
    Proved <Time at={shown.createdAt} exact />
    {proofs.length > 1 && (
      <span class="quiet">
        {' · other proofs: '}
        {proofs
          .filter(({ proofId }) => proofId !== shown.proofId)
          .slice(0, 5)
          .map(({ proofId, runId, createdAt }) => (
            <a key={proofId} class="listed" href={linkTo(['runs', runId], { tab: 'proof', proof: proofId })}>
              <Time at={createdAt} />
            </a>
          ))}
      </span>
    )}
  </p>
);

function Proof({ proof }: { readonly proof: ComplianceProof }) {
  const { client } = useSession();
  const { proofId } = proof;
  const { data, error, reload } = useLoad(
    async (signal) => (await client.verifyProof({ body: { proofId }, signal })).body,
    `verified ${proofId}`,
  );
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  if (data === undefined) return <Loading what="the verification" />;
  return (
    <>
      <div class="questions">
        <Question
          title="Authentic?"
          answer={data.authentic ? 'yes' : 'no'}
          tone={data.authentic ? 'good' : 'bad'}
          about={
            data.authentic
              ? 'The proof is the one that the log signed, and its events are as recorded.'
              : `The proof does not hold${codeText(data.code)}`
          }
          layers={data.layers.filter(({ name }) => questionOf(name) === 'authentic')}
        />
        <Question
          title="Compliant?"
          {...compliance[data.compliant]}
          layers={data.layers.filter(({ name }) => questionOf(name) === 'compliant')}
        />
      </div>
      <Offline proof={proof} />
    </>
  );
}

const isLayer = (name: string): name is LayerName => Object.hasOwn(layers, name);
const questionOf = (name: string) => (isLayer(name) ? layers[name].question : 'authentic');

const compliance: Readonly<
  Record<VerifyResult['compliant'], { readonly answer: string; readonly tone: Tone; readonly about: string }>
> = {
  yes: { answer: 'yes', tone: 'good', about: 'The run obeyed the policies in force.' },
  no: {
    answer: 'no',
    tone: 'bad',
    about: 'Something ran against the policies in force, or without their decision.',
  },
  not_governed: {
    answer: 'not governed',
    tone: 'wait',
    about: 'No policy was in force, so there was nothing to obey.',
  },
  not_checked: { answer: 'not checked', tone: 'plain', about: 'The proof has no layer about policies.' },
};

const codeText = (code: string | undefined): string =>
  code === undefined
    ? '.'
    : `: ${Object.hasOwn(verdictCodes, code) ? verdictCodes[code as keyof typeof verdictCodes] : code}.`;

type Layer = VerifyResult['layers'][number];

interface QuestionProps {
  readonly title: string;
  readonly answer: string;
  readonly tone: Tone;
  readonly about: string;
  readonly layers: readonly Layer[];
}

const Question = ({ title, answer, tone, about, layers: shown }: QuestionProps) => (
  <section class="card">
    <h2 class="question">
      {title} <Status tone={tone}>{answer}</Status>
    </h2>
    <p>{about}</p>
    <ul class="layers">
      {shown.map((layer) => (
        <LayerLine key={layer.name} layer={layer} />
      ))}
    </ul>
  </section>
);

const bases: Readonly<Record<Layer['basis'], string>> = {
  recomputed: 'computed again from the log',
  attested: 'as the log attests',
  not_checked: 'not checked',
};

const LayerLine = ({ layer: { name, passed, code, basis, says } }: { readonly layer: Layer }) => (
  <li>
    {basis === 'not_checked' ? (
      <Status tone="plain">not checked</Status>
    ) : (
      <Status tone={passed ? 'good' : 'bad'}>{passed ? 'holds' : 'does not hold'}</Status>
    )}
    <div>
      <p>{isLayer(name) ? layers[name].says : 'A layer that this console does not know.'}</p>
      <p class="quiet small">
        <code>{name}</code>, {bases[basis]}
        {code !== undefined && codeText(code)}
        {says !== undefined && ` ${says}`}
      </p>
    </div>
  </li>
);

/** The same answer without the service: the bundle, and the page that verifies it. */
function Offline({ proof: { proofId, proofHash } }: { readonly proof: ComplianceProof }) {
  const session = useSession();
  const { isBusy, error, run } = useAction();
  const save = (): void =>
    run((signal) =>
      download(session, {
        path: `/proofs/${proofId}/bundle?events=disclosed`,
        name: `${proofId}.govproof.json`,
        signal,
      }),
    );
  return (
    <section class="card">
      <h2>Check it yourself</h2>
      <p>
        The service has answered above. To need nobody's word, download the bundle and open it on the verify
        page, which works with the network off.
      </p>
      <div class="actions">
        <Button onClick={save} isBusy={isBusy}>
          Download the bundle
        </Button>
        <a class="button" href="verify.html" target="_blank" rel="noopener">
          Open the verify page
        </a>
      </div>
      {error !== null && <ErrorBox error={error} />}
      <dl class="facts">
        <dt>Proof</dt>
        <dd>
          <code>{proofId}</code>
        </dd>
        <dt>Hash</dt>
        <dd>
          <code>{proofHash}</code>
        </dd>
      </dl>
    </section>
  );
}

function ProveDialog({ runId, ...ends }: DialogEnds & { readonly runId: string }) {
  const { client } = useSession();
  const [wanted, setWanted] = useState(standardLayers);
  const work = async (signal: AbortSignal): Promise<void> => {
    // a long run is proved by a job, which this waits for
    const composed = { layers: [...wanted] };
    const answer = await client.createProof({ body: { runId, composed, async: true }, signal });
    if (answer.status !== 202) return;
    const job = await jobEnd(client, answer.body.jobId, signal);
    if (job.status === 'cancelled') throw new Error('the job was cancelled');
    if (job.status === 'failed') throw new Error(job.errorSummary ?? 'the job failed');
  };
  return (
    <ConfirmDialog {...ends} title="Prove this run" verb="Prove" work={work}>
      <p>A proof is a leaf of the log: it stays. What shall it show?</p>
      <div class="choices">
        <Choices values={layerNames} chosen={wanted} choose={setWanted} text={(name) => layers[name].says} />
      </div>
    </ConfirmDialog>
  );
}
