/**
 * How many deliveries a process sends at once. Slow receivers have slots of their own, of which a project has a share:
 * they delay neither quick receivers nor other projects. A receiver is known by its last answer.
 * Proven by `test/service/reports/deliveries/slots.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { OutboundAnswer } from '../../hosting/outbound.ts';
import { isSlow } from '../../outbox/slow.ts';
import type { StoredDelivery } from './document.ts';

/** The turn of one delivery. */
export interface Turn {
  readonly projectId: string;
  isSlow: boolean;
}

type Receiver = Pick<StoredDelivery, 'channel' | 'target'>;

export class DeliverySlots {
  #quick = 0;
  #slow = 0;
  readonly #slowOfProject = new Map<string, number>();
  /** Slow receivers, the one that answered last at the end. */
  readonly #receivers = new Set<string>();

  /** Reserves a quick slot before a delivery is claimed. False where none is free. */
  reserve(): boolean {
    if (this.#quick >= limits.deliveriesQuickAtOnce) return false;
    this.#quick += 1;
    return true;
  }

  /** Frees a reserved slot that found nothing to do. */
  cancel(): void {
    this.#quick -= 1;
  }

  /** Moves the turn to a slow slot where its receiver is slow. False where no slow slot is free for the project. */
  admit(turn: Turn, receiver: Receiver): boolean {
    const { projectId } = turn;
    if (!this.#receivers.has(keyOf(projectId, receiver))) return true;
    const own = this.#slowOfProject.get(projectId) ?? 0;
    if (this.#slow >= limits.deliveriesSlowAtOnce || own >= limits.deliveriesSlowOfProject) return false;
    this.#quick -= 1;
    this.#slow += 1;
    this.#slowOfProject.set(projectId, own + 1);
    turn.isSlow = true;
    return true;
  }

  learn({ projectId }: Turn, receiver: Receiver, answer: OutboundAnswer): void {
    const key = keyOf(projectId, receiver);
    this.#receivers.delete(key);
    if (!isSlow(answer)) return;
    this.#receivers.add(key);
    const [oldest] = this.#receivers;
    if (this.#receivers.size > limits.deliverySlowReceivers && oldest !== undefined)
      this.#receivers.delete(oldest);
  }

  end({ projectId, isSlow: wasSlow }: Turn): void {
    if (!wasSlow) {
      this.#quick -= 1;
      return;
    }
    this.#slow -= 1;
    const left = (this.#slowOfProject.get(projectId) ?? 1) - 1;
    if (left === 0) this.#slowOfProject.delete(projectId);
    else this.#slowOfProject.set(projectId, left);
  }
}

const keyOf = (projectId: string, { channel, target }: Receiver): string =>
  `${projectId} ${channel} ${target}`;
