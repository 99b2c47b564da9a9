/** JSON Merge Patch (RFC 7396). Tested by `test/client/namespaces/merge-patch.test.ts` with the table of its appendix A. */
import { isObject } from '../../core/json/object.ts';

/** Returns the target with the patch: null removes a member, an object merges, anything else replaces. Both stay as they are. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  // entries, because a member may be named __proto__
  const members = new Map<string, unknown>(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, mergePatch(members.get(name), value));
  }
  return Object.fromEntries(members);
}
