/** The work of webhooks in a process: following logs and sending. `src/host/process/run.ts` starts it. */
import type { Services } from '../port/services.ts';
import { Following } from './following.ts';
import { Sending } from './sending.ts';
import type { WebhookWork } from '../port/webhooks.ts';

export class Webhooks implements WebhookWork {
  readonly #following: Following;
  readonly #sending: Sending;

  constructor(services: Services) {
    this.#sending = new Sending(services);
    this.#following = new Following(services, () => this.#sending.wake());
  }

  start(): void {
    this.#following.start();
    this.#sending.start();
  }

  follow(projectId: string): void {
    this.#following.follow(projectId);
  }

  wake(): void {
    this.#sending.wake();
  }

  async stop(): Promise<void> {
    await this.#following.stop();
    await this.#sending.stop();
  }
}
