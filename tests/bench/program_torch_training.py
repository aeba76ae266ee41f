"""A PyTorch training loop: a small network, and the loss read after each step."""

import steps

(torch,) = steps.need("torch")
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
                            torch.nn.Linear(512, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters())
inputs = torch.randn(16, 128, 256, pin_memory=True)
targets = torch.randint(10, (16, 128)).pin_memory()
batch = 0


def step():
    global batch
    batch = (batch + 1) % len(inputs)
    optimizer.zero_grad()
    outputs = model(inputs[batch].cuda(non_blocking=True))
    loss = torch.nn.functional.cross_entropy(outputs, targets[batch].cuda(non_blocking=True))
    loss.backward()
    optimizer.step()
    return loss.item()


steps.run(step)
