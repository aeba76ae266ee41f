"""A PyTorch training loop whose step has 100 NVTX ranges: one for each layer, and one around them."""

import steps

(torch,) = steps.need("torch")
torch.manual_seed(1)
said = torch.cuda.nvtx
layers = [torch.nn.Linear(128, 128).cuda() for _ in range(99)]
optimizer = torch.optim.SGD([parameter for layer in layers for parameter in layer.parameters()], 1e-3)
inputs = torch.randn(128, 128, device="cuda")


def step():
    with said.range("step"):
        values = inputs
        for layer in layers:
            with said.range("layer"):
                values = torch.relu(layer(values))
        loss = values.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()


steps.run(step)
