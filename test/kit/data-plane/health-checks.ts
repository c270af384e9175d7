import { get } from 'node:http';

/** What a health check asks for. */
export interface HealthTarget {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

/** HTTP checks of many targets, each checked once per period however many load balancers ask for it. */
export interface HealthChecks {
  /** The targets from now on; a new one is checked at once. Safe to repeat. */
  want(targets: ReadonlyMap<string, HealthTarget>): void;
  /** Undefined until the first check has ended. */
  healthy(key: string): boolean | undefined;
  close(): void;
}

export interface HealthChecksOptions {
  readonly periodMs: number;
  readonly timeoutMs: number;
  /** So many failures in a row make a healthy target unhealthy; one success makes it healthy. */
  readonly failures: number;
  onVerdict(): void;
}

interface Checked {
  readonly target: HealthTarget;
  verdict: boolean | undefined;
  failed: number;
  timer: NodeJS.Timeout | undefined;
}

export function healthKey({ host, port, path }: HealthTarget): string {
  return `${host}:${port}${path}`;
}

export function createHealthChecks({ periodMs, timeoutMs, failures, onVerdict }: HealthChecksOptions): HealthChecks {
  const checked = new Map<string, Checked>();

  async function check(key: string, entry: Checked): Promise<void> {
    const ok = await probe(entry.target, timeoutMs);
    if (checked.get(key) !== entry) return;
    entry.failed = ok ? 0 : entry.failed + 1;
    const verdict = ok || (entry.verdict === true && entry.failed < failures);
    const changed = entry.verdict !== verdict;
    entry.verdict = verdict;
    entry.timer = setTimeout(() => void check(key, entry), periodMs);
    if (changed) onVerdict();
  }

  return {
    want(targets) {
      for (const [key, entry] of checked) {
        if (targets.has(key)) continue;
        clearTimeout(entry.timer);
        checked.delete(key);
      }
      for (const [key, target] of targets) {
        if (checked.has(key)) continue;
        const entry: Checked = { target, verdict: undefined, failed: 0, timer: undefined };
        checked.set(key, entry);
        void check(key, entry);
      }
    },
    healthy: (key) => checked.get(key)?.verdict,
    close() {
      for (const { timer } of checked.values()) clearTimeout(timer);
      checked.clear();
    },
  };
}

function probe({ host, port, path }: HealthTarget, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host, port, path, agent: false, timeout: timeoutMs }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
