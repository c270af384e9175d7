import { CreateTagsCommand, DeleteTagsCommand } from '@aws-sdk/client-ec2';
import { isCloudError } from '../../../common/cloud-error.ts';
import { aws } from '../../../common/provider-id/aws.ts';
import type { NodeTags } from '../node-tags.ts';
import type { Ec2 } from './ec2.ts';
import { invalid } from './errors.ts';
import { sdkTags } from './load-balancer-tags.ts';

/** EC2 takes 1,000 resources a call, and recommends smaller batches. */
const batchSize = 100;
/** EC2 counts characters of UTF-8, and keeps this prefix for itself. */
const longestKey = 128;
const longestValue = 256;

/** Tags of EC2 instances. CreateTags overwrites; DeleteTags with a value leaves a tag with another value alone. */
export function createNodeTags(ec2: Pick<Ec2, 'change'>): NodeTags {
  return {
    batchSize,
    expected(key, value) {
      if (key === '' || key.length > longestKey) return `a key of 1 to ${longestKey} characters`;
      if (/^aws:/i.test(key)) return 'a key that does not begin with aws:, which AWS keeps for itself';
      return value.length > longestValue ? `a value of at most ${longestValue} characters` : undefined;
    },
    async set(instances, tags, options) {
      const command = new CreateTagsCommand({ Resources: idsOf('CreateTags', instances), Tags: sdkTags(tags) });
      await naming(instances, ec2.change(command, options));
    },
    async remove(instances, tags, options) {
      const command = new DeleteTagsCommand({ Resources: idsOf('DeleteTags', instances), Tags: sdkTags(tags) });
      await naming(instances, ec2.change(command, options));
    },
  };
}

/** EC2 tells the ids that it does not have in its message alone: of a batch, those are the refused ones. */
async function naming(instances: readonly string[], call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isCloudError(error) || error.kind !== 'NotFound') throw error;
    const named = new Set(error.message.match(/\bi-[0-9a-z]+/g));
    throw error.with({
      subjects: instances.filter((providerID) => named.has(aws.parse(providerID)?.instanceId ?? '')),
    });
  }
}

function idsOf(operation: string, instances: readonly string[]): string[] {
  return instances.map((providerID) => {
    const id = aws.parse(providerID)?.instanceId;
    if (id === undefined || !/^i-[0-9a-z]+$/.test(id))
      throw invalid(operation, `providerID: ${JSON.stringify(providerID)}, expected an instance of EC2`);
    return id;
  });
}
