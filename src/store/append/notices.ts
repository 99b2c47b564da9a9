/**
 * Warnings for the operator other than the writer's own failures.
 * `/health` shows the first warning of each code until the process ends. The operator's log names an altered
 * leaf of each project, because on a service only the operator may know the project.
 * Proven by `test/service/log/altered.test.ts` and `test/service/log/altered-tenants.test.ts`.
 */
import type { AlteredLeaf } from '../port/store.ts';
import { isAltered } from './altered.ts';

/** Most projects whose altered leaf is reported. Later ones are not reported. */
const maxProjects = 1000;

export class Notices {
  /** Each is `code: text`. */
  readonly reasons: string[] = [];
  /** The first altered leaf of each project. */
  readonly altered: AlteredLeaf[] = [];
  readonly #warn: (text: string) => void;
  readonly #projects = new Set<string>();

  constructor(warn: (text: string) => void) {
    this.#warn = warn;
  }

  /** `reason`: `code: text`. Reports the first reason of each code. */
  add(reason: string): void {
    if (this.#keep(reason)) this.#warn(reason);
  }

  /** Reports an altered leaf, once per project. Ignores other errors. */
  note(error: unknown, projectId: string): void {
    if (!isAltered(error) || this.#projects.has(projectId) || this.#projects.size >= maxProjects) return;
    this.#projects.add(projectId);
    const { tree, index } = error.extensions;
    if ((tree === 'audit' || tree === 'metering') && typeof index === 'number')
      this.altered.push({ projectId, tree, index, detail: error.message });
    const reason = `integrity_violation: project ${projectId}: ${error.message}`;
    this.#keep(reason);
    this.#warn(reason);
  }

  #keep(reason: string): boolean {
    const code = reason.slice(0, reason.indexOf(':') + 1);
    if (this.reasons.some((known) => known.startsWith(code))) return false;
    this.reasons.push(reason);
    return true;
  }
}
