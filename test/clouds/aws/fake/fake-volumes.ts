import { pageOf, type Wire } from './query.ts';
import type { FakeRegion } from './region.ts';

interface Request {
  readonly Filter?: readonly { readonly Name: string; readonly Value: readonly string[] }[];
  readonly NextToken?: string;
}

/** EC2's actions about volumes. */
export const volumeActions: Readonly<Record<string, (region: FakeRegion, request: Request) => Wire>> = {
  DescribeVolumes({ volumes, pageSize }, { Filter = [], NextToken }) {
    const hits = [...volumes].filter(([id]) =>
      Filter.every(({ Name, Value }) => Name === 'volume-id' && Value.includes(id)),
    );
    const { page, next } = pageOf(hits, NextToken, pageSize);
    const volumeSet = page.map(([volumeId, availabilityZone]) => ({ volumeId, availabilityZone, status: 'available' }));
    return { volumeSet, nextToken: next };
  },
};
