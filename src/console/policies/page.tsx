/** One policy: its versions, what the chosen one would change, its life cycle, and the way back to an earlier version. */
import { useState } from 'preact/hooks';
import { limits } from '../../contract/limits.ts';
import type { Policy, PolicyVersion } from '../../contract/policies.ts';
import { nameOf } from '../../contract/policy-words.ts';
import { useLoad } from '../browser/load.ts';
import type { PageProps } from '../browser/page.ts';
import { goTo, linkTo } from '../browser/router.ts';
import { useSession } from '../browser/session.tsx';
import { NotLoaded } from '../parts/not-loaded.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { RemoteLine } from '../parts/remote-text.tsx';
import { Status } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { Diff } from './diff.tsx';
import { History } from './history.tsx';
import { Impact } from './impact.tsx';
import { PolicyMoves } from './moves.tsx';
import { Rollback } from './rollback.tsx';

const up = { name: 'Policies', path: ['policies'] } as const;

export function PolicyPage({ params: { policyId = '' }, query }: PageProps) {
  const { client } = useSession();
  const [round, setRound] = useState(0);
  const { data, error, reload } = useLoad(async (signal) => {
    const [policy, versions] = await Promise.all([
      client.getPolicy({ params: { policyId }, signal }),
      client.listPolicyVersions({ params: { policyId }, query: { limit: limits.pageMax }, signal }),
    ]);
    return { policy: policy.body, versions: versions.body.data, isCut: versions.body.nextCursor !== null };
  }, `policy ${policyId} ${round}`);
  if (data === undefined)
    return <NotLoaded title={policyId} up={up} what="the policy" error={error} retry={reload} />;
  const { policy, versions, isCut } = data;
  const { status, activeVersion, latest } = policy;
  const { name, ...said } = nameOf(policy);
  const shown = versions.find(({ version }) => String(version) === query.get('version')) ?? latest;
  const isInForce = status === 'active' && activeVersion === shown.version;
  const moved = (): void => setRound(round + 1);
  return (
    <>
      <PageHead title={policyId} up={up} actions={<PolicyMoves policy={policy} moved={moved} />}>
        <Status>{status}</Status> <RemoteLine text={name} />
      </PageHead>
      <div class="stack">
        {Object.values(said)
          .flat()
          .map(
            (text) =>
              text !== null && (
                <p key={text}>
                  <RemoteLine text={text} />
                </p>
              ),
          )}
        <Versions {...{ policy, versions, isCut, query, moved }} to={shown} />
        {!isInForce && <Impact policyId={policyId} version={shown} />}
        <History key={round} policyId={policyId} />
      </div>
    </>
  );
}

interface VersionsProps {
  readonly policy: Policy;
  /** Newest first. */
  readonly versions: readonly PolicyVersion[];
  readonly isCut: boolean;
  readonly query: URLSearchParams;
  /** The version that the address names, or the newest. */
  readonly to: PolicyVersion;
  readonly moved: () => void;
}

/** The versions, and the difference of two of them: by default of the active one and the newest. */
function Versions({ policy, versions, isCut, query, to, moved }: VersionsProps) {
  const { id, activeVersion } = policy;
  const usual = activeVersion !== null && activeVersion !== to.version ? activeVersion : to.version - 1;
  const wanted = query.get('from') ?? String(usual);
  const from = versions.find(({ version }) => String(version) === wanted);
  const choose = (members: Readonly<Record<string, string>>): void =>
    goTo(linkTo(['policies', id], { ...Object.fromEntries(query), ...members }), { replace: true });
  return (
    <section class="card">
      <div class="card-head">
        <h2>{from === undefined ? `Version ${to.version}` : `Version ${from.version} → ${to.version}`}</h2>
        <div class="filters inline">
          <Choice
            label="From"
            versions={versions}
            value={from?.version}
            choose={(from_) => choose({ from: from_ })}
          />
          <Choice
            label="To"
            versions={versions}
            value={to.version}
            choose={(version) => choose({ version })}
          />
        </div>
      </div>
      <Diff before={from ?? null} after={to} />
      <Table
        caption="Versions"
        rows={versions}
        keyOf={({ version }) => String(version)}
        columns={[
          {
            name: 'Version',
            cell: ({ version }) => <a href={linkTo(['policies', id], { version })}>v{version}</a>,
          },
          {
            name: 'State',
            cell: ({ version }) =>
              version === activeVersion &&
              policy.status === 'active' && <Status tone="good">in force</Status>,
          },
          { name: 'Does', cell: ({ action }) => action },
          { name: 'Severity', cell: ({ severity }) => severity ?? '–' },
          { name: 'Written by', cell: ({ createdBy }) => <code>{createdBy}</code> },
          { name: 'Written', cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            name: 'Actions',
            cell: (version) => <Rollback policy={policy} version={version} moved={moved} />,
          },
        ]}
      />
      {isCut && <p class="cut">The policy has more than {versions.length} versions; these are the newest.</p>}
    </section>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly versions: readonly PolicyVersion[];
  readonly value: number | undefined;
  readonly choose: (version: string) => void;
}

const Choice = ({ label, versions, value, choose }: ChoiceProps) => (
  <label>
    {label}{' '}
    <select value={value ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
      {value === undefined && <option value="">–</option>}
      {versions.map(({ version }) => (
        <option key={version} value={version}>
          v{version}
        </option>
      ))}
    </select>
  </label>
);
