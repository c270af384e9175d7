import type { Mutant } from './mutant.ts';

/** Breaks of what proves whose a report is. */
export const reportMutants: readonly Mutant[] = [
  {
    name: 'a review that fails is taken as yes',
    edits: [
      [
        'controller/reports/sender-identity.ts',
        "      if (error instanceof ReportRefusal) throw error;\n      onReview?.('unavailable');\n",
        `      if (error instanceof ReportRefusal) throw error;
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
      const { node, pod } = claims['kubernetes.io'];
      const sender = { nodeName: node.name, nodeUid: node.uid, podUid: pod.uid, credentialId: '' };
      const keepUntil = clock.monotonic() + keepProvedMs;
      if (sender.nodeName) return { sender, keepUntil, tokenEndsAtMs: tokenEndsAtMs(token) };
`,
      ],
    ],
  },
  {
    name: 'uid of the Node not compared',
    edits: [['controller/reports/sender-identity.ts', 'if (uid !== sender.nodeUid) {', 'if (uid === undefined) {']],
  },
  {
    name: 'tokens of every account taken',
    edits: [
      ['controller/reports/sender-identity.ts', 'if (review.username !== username)', "if (review.username === '')"],
    ],
  },
  {
    name: 'tokens for every audience taken',
    edits: [
      [
        'controller/reports/sender-identity.ts',
        'if (!review.audiences.includes(audience))',
        'if (review.audiences.length > 1e9 && audience)',
      ],
    ],
  },
  {
    name: 'a good word about a token stands for hours',
    edits: [['controller/reports/sender-identity.ts', 'keepProvedMs = 600_000', 'keepProvedMs = 36_000_000']],
  },
  {
    name: 'a bad word about a token stands for hours',
    edits: [['controller/reports/sender-identity.ts', 'keepRefusedMs = 10_000', 'keepRefusedMs = 36_000_000']],
  },
];
