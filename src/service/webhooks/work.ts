/** The work of webhooks in a process: following logs and sending. `src/host/process/run.ts` starts it. */
import type { Services } from '../port/services.ts';
import { WebhookFollower } from './following.ts';
import { WebhookSender } from './sending.ts';
import type { WebhookWork } from '../port/webhooks.ts';

export class Webhooks implements WebhookWork {
  readonly #following: WebhookFollower;
  readonly #sending: WebhookSender;

  constructor(services: Services) {
    this.#sending = new WebhookSender(services);
    this.#following = new WebhookFollower(services, () => this.#sending.wake());
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
