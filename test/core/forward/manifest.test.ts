import { describe, expect, it } from 'vitest';
import { chainFault, manifestText, type ForwardManifest } from '../../../src/core/forward/manifest.ts';

function chain(count: number): string[] {
  const texts: string[] = [];
  let previous: string | null = null;
  for (let sequence = 0; sequence < count; sequence++) {
    const manifest: ForwardManifest = {
      schema: 'gov.forward-manifest/1',
      projectId: 'prj_1',
      origin: 'example.com/log/audit',
      sequence,
      previous,
      leaves: { from: sequence * 10, to: sequence * 10 + 10 },
      object: { key: `p/${sequence}.ndjson.gz`, bytes: 5, sha256: `sha256:${'a'.repeat(64)}`, records: 10 },
    };
    const { text, hash } = manifestText(manifest);
    texts.push(text);
    previous = hash;
  }
  return texts;
}

describe('chainFault', () => {
  it('accepts the manifests of a target in order', () => {
    expect(chainFault(chain(5))).toBeNull();
    expect(chainFault([])).toBeNull();
  });

  it('finds a manifest that is missing, in another order, changed, or not JSON', () => {
    const texts = chain(4);
    expect(chainFault([texts[0]!, texts[2]!])).toContain('expected sequence 1');
    expect(chainFault([texts[1]!])).toContain('expected sequence 0');
    const changed = texts.with(1, texts[1]!.replace('"records":10', '"records":9'));
    expect(chainFault(changed)).toContain('manifest 2: expected the hash');
    const moved = texts.with(3, texts[3]!.replace('"from":30', '"from":31'));
    expect(chainFault(moved)).toContain('manifest 3: expected leaves from 30');
    expect(chainFault(['{'])).toBe('manifest 0: expected JSON');
  });
});
