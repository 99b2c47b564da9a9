/** Two versions of a policy, clause by clause, as `gov policy diff` compares them. */
import type { PolicyVersion } from '../../contract/policies.ts';
import type { Json } from '../../core/json/parse.ts';
import { diffLines, isChanged, type PolicyRuling } from '../../core/policies/language/diff-lines.ts';
import { parseCondition } from '../../core/policies/language/parse.ts';
import { RemoteText } from '../parts/remote-text.tsx';
import { visibleLine } from '../../core/visible.ts';

interface DiffProps {
  /** Null: shows `after` alone. */
  readonly before: PolicyVersion | null;
  readonly after: PolicyVersion;
}

export function Diff({ before, after }: DiffProps) {
  const [left, right] = [rulingOf(before ?? after), rulingOf(after)];
  // a condition of a newer service may have forms that this page does not know
  if (left === null || right === null) return <RemoteText text={after.text} />;
  const lines = diffLines(left, right);
  return (
    <>
      {before !== null && !isChanged(lines) && <p class="quiet">The two versions do not differ.</p>}
      <pre class="code diff" tabIndex={0}>
        {lines.map(({ sign, text }, at) => (
          <div key={at} class={lineClasses[sign]}>
            {sign} {visibleLine(text)}
          </div>
        ))}
      </pre>
    </>
  );
}

const lineClasses = { ' ': 'same', '-': 'removed', '+': 'added' } as const;

function rulingOf({
  action,
  severity,
  requireSignedApproval,
  // an older service does not say it
  onIndeterminate = null,
  normalized,
}: PolicyVersion): PolicyRuling | null {
  try {
    const answer = { action, severity, requireSignedApproval, onIndeterminate };
    return { ...answer, node: parseCondition(normalized as Json) };
  } catch {
    return null;
  }
}
