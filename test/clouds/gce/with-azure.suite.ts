import { openAzureLife } from '../azure/life-cloud.ts';
import type { LifeCloud } from '../life/life-cloud.ts';
import { lifeSuite } from '../life/life-suite.ts';
import { openGceLife } from './life-cloud.ts';

lifeSuite<LifeCloud>('a fake Compute Engine and a fake Azure in one cluster', [openGceLife, openAzureLife]);
