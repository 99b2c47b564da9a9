/** Decisions that are kept: the same object for the same words, and never another policy's. */
import { describe, expect, it } from 'vitest';
import { keptDecisions, recordedDecision, spellingOf } from '../../../src/core/decided/outcome-cache.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { Member } from '../../../src/core/policies/set/member.ts';

const memberOf = (policyHash: string): Member =>
  Member.of({
    policyId: 'no-shell',
    name: 'No shell',
    version: 1,
    action: 'deny',
    severity: 'high',
    condition: { '===': [{ var: 'context.tool' }, 'shell'] },
    policyHash,
  });
const member = memberOf('sha256:one');
const denied = member.decide({ context: { tool: 'shell' } });
const allowed = member.decide({ context: { tool: 'read' } });

describe('recorded decisions', () => {
  it('a recorded decision is the same object when the policy decided the same before', () => {
    const first = recordedDecision(member, denied, 'why');
    expect(recordedDecision(member, { ...denied }, 'why')).toBe(first);
    expect(first).toEqual({ ...denied, policyHash: 'sha256:one', reasoning: 'why' });
  });

  it('a recorded decision differs by reason, outcome and version of the policy', () => {
    const one = recordedDecision(member, denied, 'same');
    expect(recordedDecision(member, denied, 'other').reasoning).toBe('other');
    expect(recordedDecision(member, allowed, 'same').outcome).toBe('not_matched');
    expect(recordedDecision(memberOf('sha256:two'), denied, 'same').policyHash).toBe('sha256:two');
    expect(recordedDecision(member, denied, 'same')).toEqual(one);
  });

  it('a recorded decision has no hash when the policy is not in force', () => {
    expect(recordedDecision(undefined, denied, 'idle')).toMatchObject({
      policyHash: null,
      reasoning: 'idle',
    });
  });

  it('a recorded decision leaves the cache after too many others were kept', () => {
    const first = recordedDecision(member, denied, 'first');
    for (let at = 0; at <= keptDecisions; at += 1) recordedDecision(member, denied, `reason ${at}`);
    const again = recordedDecision(member, denied, 'first');
    expect(again).toEqual(first);
    expect(again).not.toBe(first);
  });
});

describe('the spelling of a decision', () => {
  it('the spelling of a decision is its canonical text and the RFC 6962 hash of that text', () => {
    const decision = recordedDecision(member, denied, 'spelled');
    const text = canonicalize({ ...decision });
    for (const spelling of [spellingOf(decision), spellingOf(decision), spellingOf({ ...decision })]) {
      expect(spelling.text).toBe(text);
      expect(Buffer.from(spelling.leaf, 'latin1')).toEqual(leafHash(text));
    }
  });

  it('the spelling follows a decision that was changed and is not cached', () => {
    const decision = { ...recordedDecision(member, denied, 'before') };
    spellingOf(decision);
    decision.reasoning = 'after';
    expect(spellingOf(decision).text).toBe(canonicalize(decision));
  });
});
