import { connect, type Socket } from 'node:net';

export interface Target {
  readonly host: string;
  readonly port: number;
  /** The client's own address. */
  readonly from?: string;
}

export interface Answered {
  /** The node that answered. */
  readonly node: string;
  /** Who the node thinks the client is. */
  readonly client: string;
}

const answerMs = 2000;

/**
 * One connection: a line, its answer, the end. Throws when it is refused, breaks, or has no answer within two seconds.
 */
export async function ask(target: Target, line = 'hello'): Promise<Answered> {
  const conversation = await converse(target);
  try {
    return await conversation.say(line);
  } finally {
    conversation.end();
  }
}

/** A connection that is kept. */
export interface Conversation {
  /** Sends a line and waits for its answer. One at a time. */
  say(line: string): Promise<Answered>;
  /** Ends in order. */
  end(): void;
}

export function converse({ host, port, from }: Target): Promise<Conversation> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true, ...(from === undefined ? {} : { localAddress: from }) });
    socket.setEncoding('utf8');
    let waiting: { resolve(line: string): void; reject(error: Error): void } | undefined;
    let broken: Error | undefined;
    let rest = '';
    const fail = (error: Error) => {
      broken ??= error;
      reject(broken);
      waiting?.reject(broken);
      socket.destroy();
    };
    socket.on('error', fail);
    socket.on('close', () => fail(new Error('the connection broke')));
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) waiting?.resolve(line);
    });
    socket.once('connect', () => resolve({ say: (line) => say(socket, line), end: () => socket.end() }));

    function say(on: Socket, line: string): Promise<Answered> {
      return new Promise<string>((done, failed) => {
        if (broken) {
          failed(broken);
          return;
        }
        const timer = setTimeout(() => fail(new Error(`no answer within ${answerMs / 1000} s`)), answerMs);
        const settle = () => {
          clearTimeout(timer);
          waiting = undefined;
        };
        waiting = {
          resolve(answer) {
            settle();
            done(answer);
          },
          reject(error) {
            settle();
            failed(error);
          },
        };
        on.write(`${line}\n`);
      }).then((answer) => {
        const [node = '', client = '', ...echo] = answer.split(' ');
        if (echo.join(' ') !== line)
          throw new Error(`the answer to ${JSON.stringify(line)} was ${JSON.stringify(answer)}`);
        return { node, client };
      });
    }
  });
}

export interface TrafficOptions {
  /** Where it goes; read for every connection. */
  readonly target: () => Target;
  /** A short connection every so often. */
  readonly everyMs: number;
  /** Connections that are kept for a while, each saying a line every 100 ms. */
  readonly kept: number;
  /** For how long each is kept before a new one takes its place. */
  readonly keptMs: number;
}

export interface TrafficCounts {
  readonly short: number;
  readonly kept: number;
  readonly lines: number;
  readonly failures: readonly string[];
  /** Connections opened, by node. */
  readonly byNode: ReadonlyMap<string, number>;
  /** When a connection to the node was last opened, milliseconds since 1970. */
  readonly lastOpened: ReadonlyMap<string, number>;
}

/** Clients that never rest; whatever fails is counted with its reason. */
export interface Traffic {
  counts(): TrafficCounts;
  /** No new connections; resolves when all have ended. */
  stop(): Promise<TrafficCounts>;
}

export function startTraffic({ target, everyMs, kept, keptMs }: TrafficOptions): Traffic {
  const failures: string[] = [];
  const byNode = new Map<string, number>();
  const lastOpened = new Map<string, number>();
  const running = new Set<Promise<void>>();
  const counts = { short: 0, kept: 0, lines: 0 };
  let stopped = false;
  let wake = () => {};
  const stopping = new Promise<void>((resolve) => {
    wake = resolve;
  });

  function opened(node: string): void {
    byNode.set(node, (byNode.get(node) ?? 0) + 1);
    lastOpened.set(node, Date.now());
  }

  async function short(): Promise<void> {
    counts.short += 1;
    const { node } = await ask(target(), `short ${counts.short}`);
    opened(node);
  }

  async function keep(): Promise<void> {
    while (!stopped) {
      counts.kept += 1;
      const conversation = await converse(target());
      const { node } = await conversation.say('first');
      opened(node);
      const until = Date.now() + keptMs;
      while (!stopped && Date.now() < until) {
        counts.lines += 1;
        const answer = await conversation.say(`line ${counts.lines}`);
        if (answer.node !== node) throw new Error(`one connection was answered by ${node} and ${answer.node}`);
        await pause(100);
      }
      conversation.end();
    }
  }

  function pause(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const time = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    return Promise.race([time, stopping]).finally(() => clearTimeout(timer));
  }

  function run(what: string, task: () => Promise<void>): void {
    const done = task()
      .catch((error: unknown) => void failures.push(`${what}: ${error instanceof Error ? error.message : error}`))
      .finally(() => running.delete(done));
    running.add(done);
  }

  const ticking = setInterval(() => run('short', short), everyMs);
  for (let number = 0; number < kept; number += 1) run('kept', keep);
  const snapshot = (): TrafficCounts => ({
    ...counts,
    failures: [...failures],
    byNode: new Map(byNode),
    lastOpened: new Map(lastOpened),
  });
  return {
    counts: snapshot,
    async stop() {
      stopped = true;
      clearInterval(ticking);
      wake();
      await Promise.all(running);
      return snapshot();
    },
  };
}
