/**
 * What an operator must know beside the writer's own trouble. `/health` has the first of each code until the end; the
 * operator's log has an altered leaf of each project, since on a service only its operator may know whose it is.
 * Proven by `test/service/log/altered.test.ts` and `test/service/log/altered-tenants.test.ts`.
 */
import { isAltered } from './altered.ts';

/** Projects of which an altered leaf is told; where there are more, everything is. */
const projectsTold = 1000;

export class Notices {
  /** Each `code: text`. */
  readonly reasons: string[] = [];
  private readonly told: (text: string) => void;
  private readonly projects = new Set<string>();

  constructor(told: (text: string) => void) {
    this.told = told;
  }

  /** `reason`: `code: text`; told once for each code. */
  add(reason: string): void {
    if (this.keep(reason)) this.told(reason);
  }

  /** Takes note of a leaf of a project that is not what was logged, where the error says so. */
  note(error: unknown, projectId: string): void {
    if (!isAltered(error) || this.projects.has(projectId) || this.projects.size >= projectsTold) return;
    this.projects.add(projectId);
    const reason = `integrity_violation: project ${projectId}: ${error.message}`;
    this.keep(reason);
    this.told(reason);
  }

  private keep(reason: string): boolean {
    const code = reason.slice(0, reason.indexOf(':') + 1);
    if (this.reasons.some((known) => known.startsWith(code))) return false;
    this.reasons.push(reason);
    return true;
  }
}
